import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { CommandError, EXIT } from '../../base/catalogue/command.ts'
import { pluralize } from '../../base/pluralize.ts'
import { runConfigTests } from '../../services/config-tests/run.ts'
import { configPaths } from '../config-paths.ts'
import { newCommand } from '../new-command.ts'
import { glyphsFor } from '../output/style.ts'
import { testsToGithub, testsToJson, testsToJunit, testsToText } from '../output/test-report.ts'
import { appPorts, type BindHandler } from '../session.ts'

interface Options {
  readonly output?: string
}

/** `gw test`: assertions about a configuration, checked offline with the code of the gateway. */
export function testCommand(bind: BindHandler): Command {
  return newCommand('test', 'Check assertions about a configuration: allowed models, routes and costs.', [
    'gw test -c ./config                                  # every *.test.yaml in it',
    'gw test -c ./config config/policies.test.yaml',
    'gw test -c ./config --format junit -o report.xml     # for CI',
  ])
    .argument('[file...]', 'test files (default: every *.test.yaml of the configuration)')
    .option('-o, --output <file>', 'write the report to this file, in the format of --format')
    .addHelpText(
      'after',
      [
        '',
        'A test is a few lines of YAML: `- { key: app, may_call: gpt-4o }`. Offline: opens no store and no socket,',
        'reads no secret. Ends with 4 if a test fails, with 3 if a file cannot be read.',
      ].join('\n'),
    )
    .action(
      bind<Options>(
        async (session, files, { output }) => {
          const { out, io } = session
          const results = await runConfigTests(configPaths(session), files, appPorts(session))
          const json = () => testsToJson(results)
          const text = () => testsToText(results, out.style, glyphsFor(io))
          const junit = () => testsToJunit(results)
          const github = () => testsToGithub(results)
          if (output === undefined) out.result({ text, json, junit, github })
          else {
            const forms = { text, junit, github, json: () => `${JSON.stringify(json(), null, 2)}\n` }
            await writeFile(resolve(io.cwd, output), forms[out.format]())
            out.result({ text, json })
          }
          const failed = results.filter(({ judgement }) => !judgement.ok).length
          if (failed === 0) return EXIT.done
          // The JSON document is complete already.
          if (out.format === 'json') return EXIT.precondition
          return out.fail(
            new CommandError('tests_failed', `${pluralize(failed, 'test')} of ${results.length} failed.`),
          )
        },
        ['github', 'junit'],
      ),
    )
}
