import type { CompletedCommand, Words } from './tree.ts'

/** The branches of a \`case\` of POSIX shells: a line that prints what \`text\` gives, for each path. */
export function caseTable<Row extends { readonly path: string }>(
  rows: readonly Row[],
  text: (row: Row) => string,
): string {
  return rows.map(row => `    ${quoted(row.path)}) echo ${quoted(text(row))} ;;\n`).join('')
}

/** The same for the value of each flag of each command. */
export function flagTable(commands: readonly CompletedCommand[]): string {
  const rows = commands.flatMap(({ path, flags }) =>
    flags.flatMap(({ spellings, value }) =>
      value === undefined ? [] : spellings.map(spelling => ({ path: `${path} ${spelling}`, value })),
    ),
  )
  return caseTable(rows, ({ value }) => source(value))
}

/** The source of words, as the scripts read it: the first word is its kind. */
export function source(words: Words): string {
  if (words.from === 'choices') return `choices ${words.choices.join(' ')}`
  return words.from === 'store' ? `store ${words.kind}` : words.from
}

/** Every flag that takes a value: the word after it is not a command. */
export function valueFlags(commands: readonly CompletedCommand[]): readonly string[] {
  const all = commands.flatMap(({ flags }) =>
    flags.flatMap(({ spellings, value }) => (value === undefined ? [] : spellings)),
  )
  return [...new Set(all)]
}

/** Quotes any text as one word of a POSIX shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
