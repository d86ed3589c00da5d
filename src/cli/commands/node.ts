import { type Command, Option } from 'commander'
import {
  type JoinOptions,
  joinNode,
  leaveNode,
  type NodeIo,
  nodeStatus,
  type TrustOptions,
} from '../../agent/commands.ts'
import { CARRIERS } from '../../agent/dial.ts'
import { EXIT } from '../../base/catalogue/command.ts'
import { readStdin } from '../io.ts'
import { keepProcessAlive } from '../keep-process-alive.ts'
import { newCommand } from '../new-command.ts'
import { printable } from '../output/style.ts'
import type { BindHandler, Session } from '../session.ts'
import { durationArgument } from '../time-argument.ts'
import { gwVersion } from '../version.ts'

/** `gw node`: this machine as a node. */
export function nodeCommand(bind: BindHandler): Command {
  return newCommand('node', 'Serve models of this machine through a gateway that it dials.', [
    'gw node join --server https://gw:8095 --name gpu-7 --engine http://127.0.0.1:8000 --token-file ./token',
    'gw node status',
    'gw node leave',
  ])
    .addCommand(joinCommand(bind))
    .addCommand(statusCommand(bind))
    .addCommand(leaveCommand(bind))
}

const JOIN_HELP = `
The first time, a join token of \`gw nodes token\` is exchanged for a credential: from --token-file, from stdin with
\`--token-file -\`, or from GW_JOIN_TOKEN. Later the credential in --state is used, and no token is needed.

Signals:
  SIGTERM, SIGINT          takes no new calls; ends after those in flight, at most --drain
Exit codes:
  4                        the gateway rejects this node: its credential, its name or its version
`

function joinCommand(bind: BindHandler): Command {
  const command = newCommand('join', 'Join a gateway, and serve until a signal.', [
    'gw node join --server https://gw:8095 --name gpu-7 --engine http://127.0.0.1:8000 --token-file ./token',
    'gw node join --engine vllm=http://127.0.0.1:8000 --engine embed=http://127.0.0.1:8001',
    'gw node join --discover',
  ])
    .option(
      '--server <url>',
      'the address of `gw serve --node-listen`; needed for the first join; repeatable, for several gateways',
      collect,
    )
    .option('--name <name>', 'the name of this node; needed for the first join')
    .option('--token-file <path>', 'a file with the join token, or - for stdin')
    .option('--engine <[name=]url>', 'a model server of this machine; repeatable', collect)
    .option('--discover', 'offer the model servers that answer on their usual ports')
    .option('--allow-address', 'engines may be on other machines')
    .option('--allow-plaintext', 'a gateway on another machine may be reached without TLS')
    .addOption(
      new Option(
        '--carrier <how>',
        'how the connection is made: websocket for load balancers that pass no other upgrade; auto tries both (default: auto)',
      ).choices(['auto', ...CARRIERS]),
    )
    .option(
      '--drain <duration>',
      'how long calls in flight may continue after SIGTERM (default: 30s)',
      durationArgument,
    )
  return withTrust(command)
    .addHelpText('after', JOIN_HELP)
    .action(
      bind<JoinOptions>(async (session, _args, options) => {
        // Between two connections only a timer runs.
        await keepProcessAlive(joinNode(nodeIo(session), options))
        return EXIT.done
      }),
    )
}

function statusCommand(bind: BindHandler): Command {
  return withState(
    newCommand('status', 'Show whether this machine has joined, and where.', ['gw node status']),
  ).action(
    bind<TrustOptions>(async (session, _args, options) => {
      const { path, state } = await nodeStatus(nodeIo(session), options)
      const shown = state
        ? { joined: true, node: state.node, servers: state.servers, joined_at: state.joined_at }
        : { joined: false }
      session.out.result({
        text: () =>
          state
            ? `Node ${printable(state.node)} of ${printable(state.servers.join(', '))}, since ${printable(state.joined_at)}.\n`
            : `This machine has not joined: there is no ${path}.\n`,
        json: () => shown,
      })
      return EXIT.done
    }),
  )
}

function leaveCommand(bind: BindHandler): Command {
  return withTrust(
    newCommand('leave', 'End the credential of this machine, and delete it.', ['gw node leave']),
  ).action(
    bind<TrustOptions>(async (session, _args, options) => {
      const state = await leaveNode(nodeIo(session), options)
      session.out.result({
        text: () => `Node ${printable(state.node)} has left ${printable(state.servers.join(', '))}.\n`,
        json: () => ({ node: state.node, left: true }),
      })
      return EXIT.done
    }),
  )
}

function nodeIo({ io, out, signal }: Session): NodeIo {
  return {
    environment: io.environment,
    cwd: io.cwd,
    clock: io.clock,
    random: io.random,
    signal,
    version: gwVersion(),
    readStdin: async () => (await readStdin(io, signal)).toString('utf8'),
    info: line => out.info(printable(line)),
  }
}

function withTrust(command: Command): Command {
  return withState(command)
    .option('--ca <path>', 'PEM of the authorities that sign the certificate of the gateway')
    .option('--cert <path>', 'PEM of a client certificate, if the gateway demands one')
    .option('--key <path>', 'PEM of its private key')
}

function withState(command: Command): Command {
  return command.option('--state <path>', 'the file with the credential (default: gw/node.json in ~/.config)')
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}
