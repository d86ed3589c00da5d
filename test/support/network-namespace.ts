import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import process from 'node:process'
import type { WhenOver } from './when-over.ts'

const NAME = `gw${process.pid % 10_000}`
const ROUTER = `${NAME}r`
const [OUTSIDE, INSIDE] = [`${NAME}a`, `${NAME}b`]
const [UPLINK, DOWNLINK] = [`${NAME}c`, `${NAME}d`]
const SUBNET = `10.213.${process.pid % 250}`
const PRIVATE = `10.214.${process.pid % 250}`

const ip = (...words: string[]) => void execFileSync('ip', words, { stdio: 'pipe' })
const within = (namespace: string, ...words: string[]) => ip('netns', 'exec', namespace, ...words)

/** Whether a command, if there is one, succeeds in a namespace. */
function works(...words: string[]): boolean {
  const name = `${NAME}p`
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false
  if (spawnSync('ip', ['netns', 'add', name]).status !== 0) return false
  const isDone = words.length === 0 || spawnSync('ip', ['netns', 'exec', name, ...words]).status === 0
  return spawnSync('ip', ['netns', 'del', name]).status === 0 && isDone
}

/** Needs root, `ip` and network namespaces. */
export const hasNamespaces = works()
/** Needs `nft`, too, and a system that translates addresses. */
export const hasNat =
  hasNamespaces &&
  works('nft', 'table ip t { chain c { type nat hook postrouting priority 100; masquerade; }; }')

/** A machine in a network of its own: what it serves at its own 127.0.0.1 cannot be reached from here. */
export interface NetworkNamespace {
  /** Its own address, and that of this machine for it. */
  readonly address: string
  readonly outsideAddress: string
  /** Where its connections come from: its own address, or that of the router before it. */
  readonly seenAddress: string
  /** Runs a command of node in it, until the end of the test. */
  run(words: readonly string[], cwd: string, environment?: Readonly<Record<string, string>>): ChildProcess
  /** Packets to the other side go to an address that no interface has. */
  swallow(isOn: boolean): void
}

export function networkNamespace(whenOver: WhenOver): NetworkNamespace {
  addNamespaces([NAME], whenOver)
  const [outsideAddress, address] = [`${SUBNET}.1`, `${SUBNET}.2`]
  link({ device: OUTSIDE, address: outsideAddress }, { device: INSIDE, address, namespace: NAME })
  return {
    address,
    outsideAddress,
    seenAddress: address,
    run: runner(whenOver),
    swallow(isOn) {
      misdirect(isOn, address, OUTSIDE)
      misdirect(isOn, outsideAddress, INSIDE, NAME)
    },
  }
}

export interface NetworkBehindNat extends NetworkNamespace {
  /** From the next packet on, the router forgets a connection on which nothing has passed for so long. */
  forgetIdle(seconds: number): void
}

/**
 * The machine is behind a router that translates its addresses and lets connections out only.
 *
 *     this machine ── outside │ uplink ── router: masquerade, drop what is new from outside ── downlink │ inside ── machine
 */
export function networkBehindNat(whenOver: WhenOver): NetworkBehindNat {
  addNamespaces([NAME, ROUTER], whenOver)
  const [outsideAddress, seenAddress] = [`${SUBNET}.1`, `${SUBNET}.2`]
  const [gateway, address] = [`${PRIVATE}.1`, `${PRIVATE}.2`]
  link(
    { device: OUTSIDE, address: outsideAddress },
    { device: UPLINK, address: seenAddress, namespace: ROUTER },
  )
  link(
    { device: DOWNLINK, address: gateway, namespace: ROUTER },
    { device: INSIDE, address, namespace: NAME },
  )
  within(NAME, 'ip', 'route', 'add', 'default', 'via', gateway)
  within(
    ROUTER,
    'nft',
    `table ip gw {
      chain in { type filter hook input priority 0; policy drop; }
      chain through {
        type filter hook forward priority 0; policy drop;
        ct state established,related accept
        iifname ${DOWNLINK} ct state new accept
      }
      chain out { type nat hook postrouting priority 100; oifname ${UPLINK} masquerade; }
    }`,
  )
  const set = (name: string, value: number): void =>
    within(ROUTER, 'sh', '-c', `echo ${value} > /proc/sys/net/${name}`)
  set('ipv4/ip_forward', 1)
  // A packet of a connection that the router has forgotten begins none.
  set('netfilter/nf_conntrack_tcp_loose', 0)
  // A host that knows the address behind the router can send to it.
  ip('route', 'add', `${PRIVATE}.0/24`, 'via', seenAddress)
  return {
    address,
    outsideAddress,
    seenAddress,
    run: runner(whenOver),
    swallow(isOn) {
      misdirect(isOn, seenAddress, OUTSIDE)
      misdirect(isOn, outsideAddress, UPLINK, ROUTER)
    },
    forgetIdle: seconds => set('netfilter/nf_conntrack_tcp_timeout_established', seconds),
  }
}

interface Plug {
  readonly device: string
  readonly address: string
  /** Absent: this machine. */
  readonly namespace?: string
}

function addNamespaces(names: readonly string[], whenOver: WhenOver): void {
  for (const name of names) {
    ip('netns', 'add', name)
    within(name, 'ip', 'link', 'set', 'lo', 'up')
  }
  whenOver(() => {
    // A namespace lasts as long as its processes, which may still be ending: the way to it, and what leads there, ends now.
    ip('link', 'del', OUTSIDE)
    for (const name of names) ip('netns', 'del', name)
  })
}

function link(one: Plug, other: Plug): void {
  const at = ({ namespace }: Plug) => (namespace === undefined ? [] : ['netns', namespace])
  ip('link', 'add', one.device, ...at(one), 'type', 'veth', 'peer', 'name', other.device, ...at(other))
  for (const { device, address, namespace } of [one, other]) {
    const set = (...words: string[]) =>
      namespace === undefined ? ip(...words) : within(namespace, 'ip', ...words)
    set('addr', 'add', `${address}/24`, 'dev', device)
    set('link', 'set', device, 'up')
  }
}

function runner(whenOver: WhenOver): NetworkNamespace['run'] {
  return (words, cwd, environment = {}) => {
    const child = spawn('ip', ['netns', 'exec', NAME, process.execPath, ...words], {
      cwd,
      env: { PATH: process.env['PATH'], HOME: cwd, ...environment },
      stdio: 'ignore',
    })
    whenOver(() => void child.kill('SIGKILL'))
    return child
  }
}

function misdirect(isOn: boolean, address: string, device: string, namespace?: string): void {
  const how = isOn ? ['lladdr', '02:00:00:00:00:99', 'nud', 'permanent'] : []
  const words = ['neigh', isOn ? 'replace' : 'del', address, ...how, 'dev', device]
  if (namespace === undefined) ip(...words)
  else within(namespace, 'ip', ...words)
}
