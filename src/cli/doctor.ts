import type { Command } from 'commander'
import { examine } from '../app/doctor/examine.ts'
import type { Diagnosis } from '../app/doctor/types.ts'
import { pluralize } from '../app/pluralize.ts'
import { EXIT } from '../base/catalogue/command.ts'
import { parseListen } from './listen.ts'
import { newCommand } from './new-command.ts'
import { appPorts, type BindHandler } from './session.ts'
import { printable, type Style } from './style.ts'
import { wrapText } from './wrap-text.ts'

interface Options {
  readonly listen: string
  readonly controlListen: string
}

/** `gw doctor`: whether this machine has what gw needs. */
export function doctorCommand(bind: BindHandler): Command {
  return newCommand('doctor', 'Look at what gw needs of this machine, and say what to hint.', [
    'gw doctor',
    'gw doctor --store sqlite:/var/lib/gw/gw.db --listen 0.0.0.0:8090',
    'gw doctor --format json | jq \'.checks[] | select(.state != "ok")\'',
  ])
    .option('--listen <host:port>', 'where the gateway is to listen', '127.0.0.1:8090')
    .option('--control-listen <host:port>', 'where the control plane is to listen', '127.0.0.1:8080')
    .addHelpText('after', '\nEnds with 1 where something fails; a warning is none. It changes nothing.\n')
    .action(
      bind<Options>(async (session, _args, { listen, controlListen }) => {
        const { out, flags } = session
        const checks = await examine(
          {
            storeUrl: flags.store,
            gateway: parseListen(listen),
            control: parseListen(controlListen),
          },
          appPorts(session),
        )
        out.result({
          text: () => toText(checks, out.style, out.width),
          json: () => ({
            healthy: !checks.some(({ state }) => state === 'fail'),
            checks: checks.map(({ check, state, found, hint }) => ({
              check,
              state,
              found,
              hint: hint ?? null,
            })),
          }),
        })
        return checks.some(({ state }) => state === 'fail') ? EXIT.unexpected : EXIT.done
      }),
    )
}

const SIGNS: Readonly<Record<Diagnosis['state'], string>> = { ok: 'ok  ', warn: 'warn', fail: 'FAIL' }

function toText(checks: readonly Diagnosis[], style: Style, width: number | undefined): string {
  const sign = (state: Diagnosis['state']) => {
    if (state === 'ok') return style.added(SIGNS.ok)
    return state === 'warn' ? style.changed(SIGNS.warn) : style.fault(SIGNS.fail)
  }
  const name = Math.max(...checks.map(({ check }) => check.length))
  const indent = SIGNS.ok.length + name + 4
  const lines = checks.map(({ check, state, found, hint }) => {
    const said = wrapText(printable(found), width, indent).slice(indent)
    const told = hint === undefined ? '' : wrapText(printable(hint), width, indent)
    return `${sign(state)}  ${check.padEnd(name)}  ${said}${told}`
  })
  const [warnings, failures] = (['warn', 'fail'] as const).map(
    each => checks.filter(({ state }) => state === each).length,
  )
  const verdict =
    failures === 0 && warnings === 0
      ? 'All is well.'
      : `${pluralize(failures ?? 0, 'failure')}, ${pluralize(warnings ?? 0, 'warning')}.`
  return `${lines.join('')}\n${verdict}\n`
}
