import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const READ_BY_STRANGERS = [
  'src',
  'console',
  'docs',
  'schemas',
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'config.example',
  'examples',
  'bench',
  'scripts',
  'test',
]
/** The names of migrations, and of what they create, stay; so does what others wrote, and the list of words itself. */
const FROZEN = /^src\/store\/migrations\/|^test\/support\/openai-schemas\/|^test\/language\.test\.ts$/

/** Words that were replaced (docs/glossary.md), whatever their case: anywhere in code, documents and output. */
const WORDS =
  'ailment|anybody|crowded|crowds?|detective|everybody|foreseen|healers?|mended|mending|mends?|newcomers?|nobody|outbox|passage|refusals?|refused|refuses?|refusing|remarks?|rosters?|somebody|strangers?|told|troubles?|turnstiles?|underway|whoever|whomever'

/** Names that were replaced: in code. */
const NAMES =
  'Alongside|AnsweringThread|AskOn|askOn|Borne|borne|byHand|Carried|carryOut|Chance|chance|CROWDED|Desk|discharge|Distant\\w*|Foreseen|Figures|giveBack|Hand|handOf|Healer|heldKeys|held_at|inSlices|isIll|KeptPlan|KeptSecret|KeyHold|KeyParty|LateAnswers|leftAlone|LeftAlone|LedgerBook|lessLoaded|letGo|moveOn|mayMoveOn|OpenBody|OutputHistory|Parties|Patient|Pen|People|PlainRun|plainRun|Presence|Pulse|recognizeForeign|roomFor|Roster|staysAwake|survey|taker|tellDecision|toldCall|turnAway|Turnstile|Underway|Visit|Waiter|WaitingRoom|Wish|\\w+Wishes'

/** The standard term "connection refused", and the field of OpenAI's answers in which a model declines. */
const STANDARD =
  /connections?\s(?:is\s|was\s)?refused|refused\sconnections?|`?refusal`?:|'refusal'|`refusal`/gi

const files = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', ...READ_BY_STRANGERS],
  {
    cwd: ROOT,
    encoding: 'utf8',
  },
)
  .split('\n')
  .filter(file => file !== '' && !FROZEN.test(file) && !file.endsWith('.png') && existsSync(join(ROOT, file)))

function uses(pattern: RegExp, of: readonly string[]): string[] {
  return of.flatMap(file =>
    readFileSync(join(ROOT, file), 'utf8')
      .replaceAll(STANDARD, '')
      .split('\n')
      .flatMap((line, index) => [...line.matchAll(pattern)].map(([word]) => `${file}:${index + 1} ${word}`)),
  )
}

describe('the language of the project', () => {
  it('has none of the words that were replaced, in code, documents, help and output', () => {
    expect(uses(new RegExp(`\\b(?:${WORDS})\\b`, 'gi'), files)).toEqual([])
  })

  it('has none of the names that were replaced, in code', () => {
    const code = files.filter(file => /^(?:src|console)\/.*\.tsx?$/.test(file))
    expect(uses(new RegExp(`(?<![\\w-])#?(?:${NAMES})(?![\\w-])`, 'g'), code)).toEqual([])
  })
})
