import { type Command, InvalidArgumentError, Option } from 'commander'
import { tokenFor } from '../app/login.ts'
import { explainFiles, explainStore } from '../app/why/ask.ts'
import type { WhyQuestion } from '../app/why/explain.ts'
import { explainRemotely } from '../app/why/remote.ts'
import { CommandError, EXIT } from '../base/catalogue/command.ts'
import type { Explanation } from '../gateway/why/to-json.ts'
import { CALL_PATHS } from '../schema/api/why.ts'
import type { Json } from '../schema/kinds.ts'
import { controlUrlOption } from './control-address.ts'
import { glyphsFor } from './glyphs.ts'
import { newCommand } from './new-command.ts'
import { appPorts, type BindHandler, type Session } from './session.ts'
import { readStdin } from './stdin.ts'
import { whyToText } from './why-text.ts'

interface Options {
  readonly key?: string
  readonly secret?: string
  readonly model?: string
  readonly path?: (typeof CALL_PATHS)[number]
  readonly inputTokens?: number
  readonly maxTokens?: number
  readonly url?: URL
  readonly exitCode?: true
}

/** `gw why`: what would become of a call, check by check, without making it. */
export function whyCommand(bind: BindHandler): Command {
  return newCommand(
    'why',
    'Tell why a call would be served or rejected, check by check, without making it.',
    [
      'gw why --key app --model gpt-4o                  # each check, and which endpoint is next',
      'gw why --key app                                 # every model: visible, callable, and why not',
      'gw why --model gpt-4o                            # every key that may call it',
      'gw why --secret - --model gpt-4o < secret.txt    # by the secret that a client bears',
      'gw why -c ./config --key app --model gpt-4o      # by files, before they are applied',
      'gw why --url http://127.0.0.1:8080 --key app     # by what the running gateway knows',
    ],
  )
    .option('--key <name>', 'who calls')
    .option('--secret <->', 'who calls, by the secret on stdin: `--secret -`')
    .option('--model <name>', 'what is called')
    .addOption(
      new Option('--path <path>', 'where (default: the first path that the model is served at)').choices(
        CALL_PATHS,
      ),
    )
    .option('--input-tokens <n>', 'how long the input is (default: 1)', count)
    .option('--max-tokens <n>', 'the limit that the call asks for (default: none)', count)
    .addOption(
      controlUrlOption('ask this control plane, with what `gw login` keeps for it, or the token in GW_TOKEN'),
    )
    .option('--exit-code', 'end with 4 where the call would be rejected')
    .addHelpText(
      'after',
      [
        '',
        'Asks files (-c), a control plane (--url), or else the store, by the checks of the gateway itself.',
        'Nothing is sent, counted or held. Ends with 0 whatever the verdict, unless --exit-code is given.',
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
    json: () => explanation as Json,
  })
  const isRejected = explanation.decision?.served === false
  return options.exitCode && isRejected ? EXIT.precondition : EXIT.done
}

async function ask(question: WhyQuestion, { url }: Options, session: Session): Promise<Explanation> {
  const { flags, out, io, signal } = session
  if (url) {
    const token = await tokenFor(url, io.environment)
    return explainRemotely(question, { url, token, signal })
  }
  if (flags.config.length > 0) return explainFiles(question, flags.config, appPorts(session))
  const { explanation, gateways } = await explainStore(question, flags.store, appPorts(session))
  if (gateways.length > 0) {
    out.info(`A gateway serves this store (${gateways.join(', ')}): with --url its control plane tells more.`)
  }
  return explanation
}

async function questionOf(options: Options, { io, signal }: Session): Promise<WhyQuestion> {
  const { key, secret: flag, model, path, inputTokens, maxTokens } = options
  if (flag !== undefined && flag !== '-') {
    throw new CommandError('GW6001', 'A secret does not belong on the command line.', {
      hint: 'Pipe it in with `--secret -`.',
    })
  }
  if (key !== undefined && flag !== undefined) {
    throw new CommandError('GW6001', 'Either --key or --secret says who calls, not both.')
  }
  if (key === undefined && flag === undefined && model === undefined) {
    throw new CommandError('GW6001', 'Name a key, a model, or both: `--key NAME --model NAME`.')
  }
  const secret =
    flag === undefined ? undefined : (await readStdin(io, signal)).toString('utf8').replace(/\r?\n$/, '')
  if (secret === '') throw new CommandError('GW6001', 'There is no secret on stdin.')
  return { key, secret, model, path, inputTokens, maxTokens }
}

function count(text: string): number {
  const value = Number(text)
  if (/^\d{1,9}$/.test(text)) return value
  throw new InvalidArgumentError('Write a whole number, 0 or more.')
}
