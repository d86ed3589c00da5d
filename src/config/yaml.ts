import { Composer, type CST, type Document, Lexer, type ParsedNode, Parser, type YAMLError } from 'yaml'
import type { Finding } from './report.ts'
import type { Source } from './source.ts'

/**
 * The token limit per file. A million tokens are about 13,000 keys and two seconds; without the limit, 16 MiB of
 * brackets take minutes and gigabytes.
 */
const TOKEN_LIMIT = 1_000_000
/** Open brackets and indentations. Also protects the stack, because the composer recurses. */
const STACK_LIMIT = 200
/** Consecutive anchors and tags: each superfluous one costs an error object. */
const PROPERTIES_LIMIT = 4

interface ParsedFile {
  /** The first document, as far as it is readable. */
  readonly contents: ParsedNode | null
  /** Why the rest of the file is unreliable. */
  readonly finding?: Finding
}

/**
 * Parses one file to a syntax tree: YAML 1.2 with the core schema only. Duplicate keys, tags, aliases and merges are
 * checked by `resolve`, which knows their places.
 */
export function parseYaml(source: Source): ParsedFile {
  const { tokens, finding } = tokenize(source)
  if (finding && !tokens.some(token => token.type === 'document')) return { contents: null, finding }
  const document = compose(tokens)
  const contents = document?.contents ?? null
  const error = document?.errors.toSorted((a, b) => a.pos[0] - b.pos[0])[0]
  if (error && (!finding || error.pos[0] < finding.span.start)) {
    return { contents, finding: syntaxFinding(source, error) }
  }
  return { contents, ...(finding && { finding }) }
}

/** Reads tokens up to the end of the first document, or to the first one that gw rejects. */
function tokenize(source: Source): { tokens: CST.Token[]; finding?: Finding } {
  const tokens: CST.Token[] = []
  const parser = new Parser()
  const reject = (code: Finding['code'], text: string, start: number, length = 1) => ({
    tokens,
    finding: { code, text, span: { source, start, end: start + length } },
  })
  let read = 0
  let properties = 0
  for (const lexeme of new Lexer().lex(source.text)) {
    const start = parser.offset
    read++
    if (read > TOKEN_LIMIT) return reject('file_too_large', `more than ${TOKEN_LIMIT} YAML tokens`, start)
    if (/^[&!]/.test(lexeme)) properties++
    else if (lexeme.trim() !== '') properties = 0
    if (properties > PROPERTIES_LIMIT) return reject('yaml_syntax', 'more than one anchor or tag', start)
    for (const token of parser.next(lexeme)) {
      const stop = rejectedToken(token, tokens)
      if (stop) return reject(stop.code, stop.text, token.offset, lengthOf(token))
      tokens.push(token)
    }
    if (parser.stack.length > STACK_LIMIT) return reject('nesting_too_deep', 'nested too deep', start)
  }
  for (const token of parser.end()) {
    const stop = rejectedToken(token, tokens)
    if (stop) return reject(stop.code, stop.text, token.offset, lengthOf(token))
    tokens.push(token)
  }
  return { tokens }
}

function rejectedToken(
  token: CST.Token,
  before: readonly CST.Token[],
): Pick<Finding, 'code' | 'text'> | undefined {
  if (token.type === 'directive') {
    return { code: 'yaml_directive', text: 'a `%` directive: gw supports only YAML 1.2' }
  }
  if (token.type === 'error') return { code: 'yaml_syntax', text: SYNTAX.UNEXPECTED_TOKEN }
  if (token.type === 'document' && before.some(earlier => earlier.type === 'document')) {
    return { code: 'several_documents', text: 'a second document begins here' }
  }
  return undefined
}

function lengthOf(token: CST.Token): number {
  return token.type === 'directive' ? token.source.length : 1
}

function compose(tokens: readonly CST.Token[]): Document.Parsed | undefined {
  const composer = new Composer({
    version: '1.2',
    schema: 'core',
    strict: true,
    merge: false,
    uniqueKeys: false,
    keepSourceTokens: false,
    logLevel: 'silent',
  })
  let first: Document.Parsed | undefined
  for (const document of composer.compose(tokens)) first ??= document
  return first
}

/** Our own messages for the library's errors, because its messages quote the file, which may contain a secret. */
const SYNTAX: Record<YAMLError['code'], string> = {
  ALIAS_PROPS: 'an alias cannot have an anchor or a tag',
  BAD_ALIAS: 'an anchor or alias without a usable name',
  BAD_COLLECTION_TYPE: 'a tag that does not fit its value',
  BAD_DIRECTIVE: 'a malformed directive',
  BAD_DQ_ESCAPE:
    'an unknown escape in a double-quoted text: write `\\\\` for a backslash, or use single quotes',
  BAD_INDENT: 'the indentation does not fit the lines around it, or a bracket before is not closed',
  BAD_PROP_ORDER: 'an anchor or a tag in the wrong place',
  BAD_SCALAR_START: 'a plain text cannot start with this character: quote it',
  BLOCK_AS_IMPLICIT_KEY:
    'a map or list cannot start on this line: is the indentation right, or a quote missing?',
  BLOCK_IN_FLOW: 'a block is not allowed inside `[ ]` or `{ }`',
  DUPLICATE_KEY: 'the same key twice',
  IMPOSSIBLE: 'the YAML cannot be understood here',
  KEY_OVER_1024_CHARS: 'a key of more than 1024 characters: is a line break missing?',
  MISSING_CHAR: 'something is missing here: a comma, a colon, a quote or a closing bracket',
  MULTILINE_IMPLICIT_KEY: 'a key that runs over several lines: is a colon or a quote missing?',
  MULTIPLE_ANCHORS: 'more than one anchor on one value',
  MULTIPLE_DOCS: 'a second document begins here',
  MULTIPLE_TAGS: 'more than one tag on one value',
  NON_STRING_KEY: 'a key that is not text',
  RESOURCE_EXHAUSTION: 'the YAML is too large to be read',
  TAB_AS_INDENT: 'a tab in the indentation: use spaces',
  TAG_RESOLVE_FAILED: 'a tag that does not fit its value',
  UNEXPECTED_TOKEN: 'this does not belong here: look for a missing quote, colon or indentation just before',
}

function syntaxFinding(source: Source, error: YAMLError): Finding {
  const [start, end] = error.pos
  const line = source.lineRange(source.placeAt(start).line)
  const hasVariable = line !== undefined && /[[{,].*\$\{/.test(source.text.slice(...line).slice(0, 4_096))
  return {
    code: 'yaml_syntax',
    text: SYNTAX[error.code] ?? SYNTAX.IMPOSSIBLE,
    span: { source, start: Math.min(start, source.text.length), end },
    ...(hasVariable && { hint: 'inside `[ ]` and `{ }` quote variables: "${GW_NAME}"' }),
  }
}
