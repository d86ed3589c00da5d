// @ts-check

export const UPSTREAM_MODEL = 'bench-upstream-model'
/** The name that clients ask for; the gateway has to swap it for the upstream's, and back. */
export const PUBLIC_MODEL = 'bench'
/** Events of one stream, without `[DONE]`. */
export const STREAM_CHUNKS = 200

export const CHAT_PATH = '/v1/chat/completions'
export const MESSAGES_PATH = '/v1/messages'

/**
 * @typedef {object} Scenario
 * @property {string} name
 * @property {string} what
 * @property {'pairs' | 'paced' | 'open-streams' | 'startup' | 'scale' | 'stalls' | 'books' | 'consoles'} measure which file of `measures/` measures it
 * @property {string} path
 * @property {string} body
 * @property {number} connections requests at a time, each on a connection of its own
 * @property {number} unitsPerAnswer what throughput and CPU time are counted in: requests, or chunks of a stream
 * @property {string} unit
 */

const QUESTION = 'What is the capital of Iceland? '.repeat(8)

/** @type {readonly Scenario[]} */
export const SCENARIOS = [
  chat('chat-1', 1, 'a small chat, one after the other'),
  chat('chat-8', 8, 'small chats, 8 at a time'),
  chat('chat-64', 64, 'small chats, 64 at a time'),
  chat('chat-256', 256, 'small chats, 256 at a time'),
  large('body-20k', 20, 16),
  large('body-200k', 200, 8),
  large('body-2m', 2_000, 4),
  flatOut('sse-16', CHAT_PATH),
  { ...chat('anthropic-64', 64, 'small Anthropic messages, 64 at a time'), path: MESSAGES_PATH },
  flatOut('anthropic-sse-16', MESSAGES_PATH),
  paced('sse-paced', CHAT_PATH),
  paced('anthropic-paced', MESSAGES_PATH),
  openStreams('streams-1k', 1_000),
  openStreams('streams-5k', 5_000),
  openStreams('streams-10k', 10_000),
  {
    ...chat('start', 1, 'from the start of the process to its first answer, with 1,000 keys'),
    measure: 'startup',
  },
  { ...chat('books', 64, 'ledger, log and metrics: what they take of the main thread'), measure: 'books' },
  { ...chat('stalls', 16, 'the longest stall while it serves, reloads and is scraped'), measure: 'stalls' },
  { ...chat('consoles', 64, '20 open consoles beside small chats, and none'), measure: 'consoles' },
  { ...chat('scale', 64, '100,000 keys × 1,000 publications beside 10 × 10'), measure: 'scale' },
]

/**
 * @param {string} name
 * @param {number} connections
 * @param {string} what
 * @returns {Scenario}
 */
function chat(name, connections, what) {
  const body = conversation({ messages: message(QUESTION, 1), temperature: 0.2 })
  return {
    name,
    what,
    measure: 'pairs',
    path: CHAT_PATH,
    connections,
    unitsPerAnswer: 1,
    unit: 'request',
    body,
  }
}

/**
 * @param {string} name
 * @param {number} kilobytes
 * @param {number} connections
 * @returns {Scenario}
 */
function large(name, kilobytes, connections) {
  const body = conversation({ messages: message('y'.repeat(1_000), kilobytes) })
  return { ...chat(name, connections, `chats of ${kilobytes} KB, ${connections} at a time`), body }
}

/**
 * @param {string} name
 * @param {string} path
 * @returns {Scenario}
 */
function flatOut(name, path) {
  const body = conversation({ stream: true, messages: message('Tell me a story.', 1) })
  const what = `streams of ${STREAM_CHUNKS} chunks as fast as they go, 16 at a time`
  return { ...chat(name, 16, what), path, body, unit: 'chunk', unitsPerAnswer: STREAM_CHUNKS }
}

/**
 * @param {string} name
 * @param {string} path
 * @returns {Scenario}
 */
function paced(name, path) {
  const body = conversation({ stream: true, messages: message('Count. @every 20@', 1) })
  return {
    ...flatOut(name, path),
    what: '200 streams of 50 chunks a second',
    measure: 'paced',
    connections: 200,
    body,
  }
}

/**
 * @param {string} name
 * @param {number} streams
 * @returns {Scenario}
 */
function openStreams(name, streams) {
  const body = conversation({ stream: true, messages: message('Think for long. @every 10000@', 1) })
  const what = `${streams.toLocaleString('en')} open streams, and chats beside them`
  return { ...flatOut(name, CHAT_PATH), what, measure: 'open-streams', connections: streams, body }
}

/** @param {object} fields */
function conversation(fields) {
  return JSON.stringify({ model: PUBLIC_MODEL, max_tokens: 500, ...fields })
}

/**
 * @param {string} content
 * @param {number} times
 */
function message(content, times) {
  return Array.from({ length: times }, () => ({ role: 'user', content }))
}
