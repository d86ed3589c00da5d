import type { Socket } from 'node:net'
import { StreamError, type TunnelStream } from './stream.ts'

/**
 * Joins a stream to a connection of an engine, both ways, until both halves are complete or either breaks off. An end is
 * passed on as an end, a break as a break: the other side must not take half an answer for a complete one.
 *
 * @param socket Possibly still connecting, with `allowHalfOpen`.
 */
export function join(stream: TunnelStream, socket: Socket): void {
  let isConnected = !socket.connecting
  socket.setNoDelay(true)
  socket.once('connect', () => {
    isConnected = true
  })
  socket.on('data', (bytes: Buffer) => {
    if (!stream.write(bytes)) socket.pause()
  })
  stream.on('drain', () => socket.resume())
  socket.on('end', () => stream.end())
  stream.on('data', (bytes: Buffer) => {
    if (!socket.destroyed && !socket.write(bytes)) stream.pause()
  })
  socket.on('drain', () => stream.resume())
  stream.on('end', () => socket.end())
  // `close` follows.
  socket.on('error', () => undefined)
  socket.on('close', () => {
    // A complete answer is sent to its end; the rest of the request is discarded.
    if (socket.readableEnded) stream.resume()
    else stream.destroy(new StreamError(isConnected ? 'broken' : 'unreachable'))
  })
  stream.on('close', () => {
    if (!stream.readableEnded || !stream.writableFinished) socket.destroy()
  })
}
