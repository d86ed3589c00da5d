/**
 * A workflow command of GitHub Actions, which shows a message at its line of the pull request
 * (docs.github.com, "Workflow commands": `::error file={name},line={line},col={column},title={title}::{message}`).
 * Ends with a line feed.
 */
export function workflowCommand(
  severity: 'error' | 'warning' | 'notice',
  at: { readonly title: string; readonly file?: string; readonly line?: number; readonly col?: number },
  message: string,
): string {
  const properties = Object.entries(at)
    .map(([name, value]) => `${name}=${escapeProperty(String(value))}`)
    .join(',')
  return `::${severity} ${properties}::${escapeData(message)}\n`
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
