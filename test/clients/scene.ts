/** What the calls say, and what an echo answers. */
const HELLO = 'Hello there, naïve 🌍!'
export const ECHO = `You said: ${HELLO}`
export const user = { role: 'user', content: HELLO } as const
export const asksForTool = { role: 'user', content: 'Please call get_weather.' } as const

/** The schema of the tool that they offer, and the input that the demo makes for it. */
export const parameters = {
  type: 'object' as const,
  properties: { city: { type: 'string', examples: ['Reykjavík'] }, days: { type: 'integer', minimum: 3 } },
}
export const weather = { city: 'Reykjavík', days: 3 }
