/** What the hostile proofs have in common. */
import { World } from './world.mjs'

export function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]
}

/** @param options of {@link World.start}. */
export async function inWorld(options, proof) {
  const world = new World()
  try {
    await world.start(options)
    return await proof(world)
  } finally {
    await world.end()
  }
}
