/** Bytes that are copied once, to a place in a buffer of the caller. */
export interface ByteSource {
  readonly length: number
  copyTo(target: Buffer, at: number): void
}
