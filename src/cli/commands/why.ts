import { type Command, InvalidArgumentError, Option } from 'commander'
import { CommandError, EXIT } from '../../base/catalogue/command.ts'
import { CALL_PATHS, type CallPath } from '../../schema/paths.ts'
import { tokenFor } from '../../services/login.ts'
import { explainFiles, explainRemotely, explainStore } from '../../services/why/ask.ts'
import type { ExplainQuery } from '../../services/why/explain.ts'
import type { Explanation } from '../../services/why/to-json.ts'
import { controlUrlOption } from '../addresses.ts'
import { inStore } from '../in-store.ts'
import { readStdin } from '../io.ts'
import { newCommand } from '../new-command.ts'
import { glyphsFor } from '../output/style.ts'
import { whyToText } from '../output/why-text.ts'
import { appPorts, type BindHandler, type Session } from '../session.ts'

interface Options {
  readonly key?: string
  readonly secret?: string
  readonly model?: string
  readonly path?: CallPath
  readonly inputTokens?: number
  readonly maxTokens?: number
  readonly url?: URL
  readonly exitCode?: true
}

/** `gw why`: whether a call would be served, check by check, without making it. */
export function whyCommand(bind: BindHandler): Command {
  return newCommand(
    'why',
    'Show whether and why a call would be rejected, check by check, without making it.',
    [
      'gw why --key app --model gpt-4o                  # each check, and which endpoint is next',
      'gw why --key app                                 # every model: visible, callable, and why not',
      'gw why --model gpt-4o                            # every key that may call it',
      'gw why --secret - --model gpt-4o < secret.txt    # by the secret of a client',
      'gw why -c ./config --key app --model gpt-4o      # by files, before they are applied',
      'gw why --url http://127.0.0.1:8080 --key app     # by the state of the running gateway',
    ],
  )
    .option('--key <name>', 'the calling key')
    .option('--secret <->', 'the calling key, by its secret on stdin: `--secret -`')
    .option('--model <name>', 'the called model')
    .addOption(
      new Option('--path <path>', 'the called path (default: the first path that serves the model)').choices(
        CALL_PATHS,
      ),
    )
    .option('--input-tokens <n>', 'tokens of the input (default: 1)', count)
    .option('--max-tokens <n>', 'output limit in the request (default: none)', count)
    .addOption(controlUrlOption('query this control plane, with the token of `gw login` or GW_TOKEN'))
    .option('--exit-code', 'end with 4 if the call would be rejected')
    .addHelpText(
      'after',
      [
        '',
        'Uses files (-c), a control plane (--url), or by default the store, with the checks of the gateway itself.',
        'Nothing is sent, counted or held. Ends with 0 for any verdict, unless --exit-code is given.',
      ].join('\n'),
    )
    .action(bind<Options>(handler))
}

async function handler(session: Session, _args: readonly string[], options: Options) {
  const { out, io } = session
  const question = await questionOf(options, session)
  const explanation = await ask(question, options, session)
  out.result({
    text: () => whyToText(explanation, out.style, glyphsFor(io), out.width),
    json: () => explanation,
  })
  const isRejected = explanation.decision?.served === false
  return options.exitCode && isRejected ? EXIT.precondition : EXIT.done
}

async function ask(question: ExplainQuery, { url }: Options, session: Session): Promise<Explanation> {
  const { flags, out, io, signal } = session
  if (url) {
    const token = await tokenFor(url, io.environment)
    return explainRemotely(question, { url, token, signal })
  }
  if (flags.config.length > 0) return explainFiles(question, flags.config, appPorts(session))
  const { explanation, gateways } = await inStore(session, 'read', context => explainStore(context, question))
  if (gateways.length > 0) {
    out.info(
      `A gateway serves this store (${gateways.join(', ')}): with --url its control plane has more details.`,
    )
  }
  return explanation
}

async function questionOf(options: Options, { io, signal }: Session): Promise<ExplainQuery> {
  const { key, secret: flag, model, path, inputTokens, maxTokens } = options
  if (flag !== undefined && flag !== '-') {
    throw new CommandError('usage', 'A secret does not belong on the command line.', {
      hint: 'Pipe it in with `--secret -`.',
    })
  }
  if (key !== undefined && flag !== undefined) {
    throw new CommandError('usage', '--key and --secret exclude each other.')
  }
  if (key === undefined && flag === undefined && model === undefined) {
    throw new CommandError('usage', 'Name a key, a model, or both: `--key NAME --model NAME`.')
  }
  const secret =
    flag === undefined ? undefined : (await readStdin(io, signal)).toString('utf8').replace(/\r?\n$/, '')
  if (secret === '') throw new CommandError('usage', 'The input has no secret.')
  return { key, secret, model, path, inputTokens, maxTokens }
}

function count(text: string): number {
  const value = Number(text)
  if (/^\d{1,9}$/.test(text)) return value
  throw new InvalidArgumentError('Write a whole number, 0 or more.')
}
