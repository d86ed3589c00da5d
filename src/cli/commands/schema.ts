import { Argument, type Command } from 'commander'
import { EXIT } from '../../base/catalogue/command.ts'
import { type Json, KIND_NAMES, type Kind } from '../../schema/kinds.ts'
import { configSchema, type JsonSchema, kindSchema, testsSchema } from '../../schema/publish.ts'
import { newCommand } from '../new-command.ts'
import type { BindHandler } from '../session.ts'

/** Files of `gw test`. */
const TESTS = 'tests'

/** `gw schema`: the JSON Schema with which editors complete and check configuration files. */
export function schemaCommand(bind: BindHandler): Command {
  return newCommand('schema', 'Print the JSON Schema of a configuration file, or of one kind of resource.', [
    'gw schema > gw.schema.json   # then, first line of a file: # yaml-language-server: $schema=gw.schema.json',
    'gw schema endpoint',
  ])
    .addArgument(new Argument('[kind]', 'a kind of resource, or tests').choices([...KIND_NAMES, TESTS]))
    .action(
      bind(async ({ out }, [kind]) => {
        const schema = schemaOf(kind) as Json
        // The schema is JSON in both formats.
        out.result({ text: () => `${JSON.stringify(schema, null, 2)}\n`, json: () => schema })
        return EXIT.done
      }),
    )
}

function schemaOf(kind: string | undefined): JsonSchema {
  if (kind === undefined) return configSchema()
  return kind === TESTS ? testsSchema() : kindSchema(kind as Kind)
}
