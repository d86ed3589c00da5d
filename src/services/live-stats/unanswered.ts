import { pluralize } from '../../base/pluralize.ts'

/** A hint about endpoints without any answer or failure yet; undefined if there are none. */
export function unansweredText(endpoints: number): string | undefined {
  if (endpoints === 0) return undefined
  const have = endpoints === 1 ? 'has' : 'have'
  return `${pluralize(endpoints, 'endpoint')} ${have} not answered yet: \`gw probe\` tests them.`
}
