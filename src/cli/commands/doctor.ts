import type { Command } from 'commander'
import { EXIT } from '../../base/catalogue/command.ts'
import { pluralize } from '../../base/pluralize.ts'
import { examine } from '../../services/doctor/examine.ts'
import type { Diagnosis } from '../../services/doctor/types.ts'
import { parseListen } from '../addresses.ts'
import { newCommand } from '../new-command.ts'
import { printable, type Style } from '../output/style.ts'
import { wrapText } from '../output/wrap-text.ts'
import { appPorts, type BindHandler } from '../session.ts'

interface Options {
  readonly listen: string
  readonly controlListen: string
}

/** `gw doctor`: checks whether this machine meets the requirements of gw. */
export function doctorCommand(bind: BindHandler): Command {
  return newCommand('doctor', 'Check the requirements of gw on this machine, with a hint for each problem.', [
    'gw doctor',
    'gw doctor --store sqlite:/var/lib/gw/gw.db --listen 0.0.0.0:8090',
    'gw doctor --format json | jq \'.checks[] | select(.state != "ok")\'',
  ])
    .option('--listen <host:port>', 'the address for the gateway', '127.0.0.1:8090')
    .option('--control-listen <host:port>', 'the address for the control plane', '127.0.0.1:8080')
    .addHelpText('after', '\nEnds with 1 if a check fails; warnings are not failures. It changes nothing.\n')
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
    const advice = hint === undefined ? '' : wrapText(printable(hint), width, indent)
    return `${sign(state)}  ${check.padEnd(name)}  ${said}${advice}`
  })
  const [warnings, failures] = (['warn', 'fail'] as const).map(
    each => checks.filter(({ state }) => state === each).length,
  )
  const verdict =
    failures === 0 && warnings === 0
      ? 'No problems found.'
      : `${pluralize(failures ?? 0, 'failure')}, ${pluralize(warnings ?? 0, 'warning')}.`
  return `${lines.join('')}\n${verdict}\n`
}
