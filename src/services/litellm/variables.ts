const REFERENCE = /^os\.environ\/([A-Za-z_][A-Za-z0-9_]*)$/

/** The variable of `os.environ/NAME`. */
export function variableIn(text: string): string | undefined {
  return REFERENCE.exec(text)?.[1]
}

/** A model name as a variable name: `openai/gpt-4.1` is `OPENAI_GPT_4_1`. */
export function variableName(name: string): string {
  const bare = name
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
  return /^[A-Z]/.test(bare) ? bare : `MODEL_${bare}`
}
