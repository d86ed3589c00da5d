// @ts-check

export const UPSTREAM_MODEL = 'bench-upstream-model'
/** The name that clients ask for; the gateway has to swap it for the upstream's, and back. */
export const PUBLIC_MODEL = 'bench'
/** Events of one stream, without `[DONE]`. */
export const STREAM_CHUNKS = 200

/**
 * @typedef {object} Scenario
 * @property {string} name
 * @property {string} what
 * @property {number} connections requests at a time, each on a connection of its own
 * @property {number} unitsPerAnswer what throughput and CPU time are counted in: requests, or chunks of a stream
 * @property {string} unit
 * @property {string} body
 */

/** @type {readonly Scenario[]} */
export const SCENARIOS = [
  chat('chat-1', 1, 'a small chat, one after the other'),
  chat('chat-8', 8, 'small chats, 8 at a time'),
  chat('chat-64', 64, 'small chats, 64 at a time'),
  {
    name: 'body-200k',
    what: 'a chat of 200 KB, 8 at a time',
    connections: 8,
    unitsPerAnswer: 1,
    unit: 'request',
    body: conversation({ messages: message('y'.repeat(1_000), 200) }),
  },
  {
    name: 'sse-16',
    what: `streams of ${STREAM_CHUNKS} chunks, 16 at a time`,
    connections: 16,
    unitsPerAnswer: STREAM_CHUNKS,
    unit: 'chunk',
    body: conversation({ stream: true, messages: message('Tell me a story.', 1) }),
  },
]

/**
 * @param {string} name
 * @param {number} connections
 * @param {string} what
 * @returns {Scenario}
 */
function chat(name, connections, what) {
  const body = conversation({
    messages: message('What is the capital of Iceland? '.repeat(8), 1),
    temperature: 0.2,
  })
  return { name, what, connections, unitsPerAnswer: 1, unit: 'request', body }
}

/** @param {object} fields */
function conversation(fields) {
  return JSON.stringify({ model: PUBLIC_MODEL, ...fields })
}

/**
 * @param {string} content
 * @param {number} times
 */
function message(content, times) {
  return Array.from({ length: times }, () => ({ role: 'user', content }))
}
