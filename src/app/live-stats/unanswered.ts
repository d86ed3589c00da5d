import { pluralize } from '../pluralize.ts'

/** What a person should know of endpoints of which nothing is known; undefined where there are none. */
export function unansweredText(endpoints: number): string | undefined {
  if (endpoints === 0) return undefined
  const have = endpoints === 1 ? 'has' : 'have'
  return `${pluralize(endpoints, 'endpoint')} ${have} not answered yet: \`gw probe\` asks them.`
}
