import type { Command } from 'commander'
import { EXIT } from '../../base/catalogue/command.ts'
import { startDemoUpstream } from '../../demo/server.ts'
import { listenFault } from '../../server/listen-fault.ts'
import { parseListen } from '../addresses.ts'
import { newCommand } from '../new-command.ts'
import type { BindHandler, Session } from '../session.ts'

/** `gw demo-upstream`: serves until a signal comes, which is its ordinary end. */
export function demoUpstreamCommand(bind: BindHandler): Command {
  return newCommand(
    'demo-upstream',
    'Serve a small OpenAI and Anthropic echo, for a first run without an account.',
    ['gw demo-upstream --listen 127.0.0.1:9101'],
  )
    .option('--listen <host:port>', 'address to serve on; port 0 takes a free one', '127.0.0.1:9101')
    .action(bind<{ listen: string }>(handler))
}

async function handler({ io, out, signal }: Session, _args: readonly string[], options: { listen: string }) {
  const address = parseListen(options.listen)
  signal.throwIfAborted()
  const upstream = await startDemoUpstream({ ...address, clock: io.clock, random: io.random }).catch(
    (error: unknown) => {
      throw listenFault(error, address, '--listen')
    },
  )
  out.result({
    text: () => `Demo upstream on ${upstream.url}\n`,
    json: () => ({ url: upstream.url }),
  })
  await new Promise<void>(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
  await upstream.close()
  return EXIT.done
}
