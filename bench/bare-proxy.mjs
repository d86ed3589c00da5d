// @ts-check
/**
 * What the gateway is measured against: node:http in front, undici's `Pool.dispatch` behind, and nothing between.
 * It reads no body, checks no key, swaps no name and counts no token; a gateway on the same ground can only be
 * slower, and the ratio says by how much.
 *
 *     node bare-proxy.mjs UPSTREAM_PORT
 */
import { createServer } from 'node:http'
import process from 'node:process'
import { Pool } from 'undici'

const pool = new Pool(`http://127.0.0.1:${process.argv[2]}`, {
  pipelining: 1,
  headersTimeout: 0,
  bodyTimeout: 0,
})

const server = createServer((req, res) => {
  if (req.url === '/health') return res.end('{}')
  const headers = { 'content-type': 'application/json', authorization: 'Bearer upstream-key' }
  const length = req.headers['content-length']
  pool.dispatch(
    {
      path: req.url ?? '/',
      method: 'POST',
      headers: length === undefined ? headers : { ...headers, 'content-length': length },
      body: req,
    },
    new Answer(res),
  )
})
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => process.send?.(server.address()))
process.on('disconnect', () => process.exit(0))

/** Passes one answer on, no faster than its reader takes it. */
class Answer {
  #res
  #ended = false

  /** @param {import('node:http').ServerResponse} res */
  constructor(res) {
    this.#res = res
  }

  /** @param {import('undici').Dispatcher.DispatchController} controller */
  onRequestStart(controller) {
    this.#res.on('close', () => {
      if (!this.#ended) controller.abort(new Error('the client left'))
    })
  }

  /**
   * @param {import('undici').Dispatcher.DispatchController} _controller
   * @param {number} status
   * @param {Record<string, string | string[] | undefined>} headers
   */
  onResponseStart(_controller, status, headers) {
    const length = headers['content-length']
    const type = String(headers['content-type'])
    this.#res.writeHead(status, {
      'content-type': type,
      ...(length === undefined ? {} : { 'content-length': String(length) }),
    })
  }

  /**
   * @param {import('undici').Dispatcher.DispatchController} controller
   * @param {Buffer} piece
   */
  onResponseData(controller, piece) {
    if (this.#res.write(piece)) return
    controller.pause()
    this.#res.once('drain', () => controller.resume())
  }

  onResponseEnd() {
    this.#ended = true
    this.#res.end()
  }

  onResponseError() {
    this.#ended = true
    this.#res.destroy()
  }
}
