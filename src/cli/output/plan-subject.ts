import { printable } from './style.ts'

/** `publication gpt-4o`, `binding gpt-4o → openai`, or `settings`, which exists once. */
export function subjectText(resource: { readonly kind: string; readonly name: string }): string {
  if (resource.kind === resource.name) return resource.kind
  const name = resource.kind === 'binding' ? resource.name.replace(' ', ' → ') : resource.name
  return printable(`${resource.kind} ${name}`)
}
