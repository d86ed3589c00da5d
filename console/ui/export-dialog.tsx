import { useQuery } from '@tanstack/react-query'
import { useConsole } from '../api/context.ts'
import { Code } from './copy.tsx'
import { Dialog } from './dialog.tsx'
import { Loaded } from './page.tsx'

/**
 * The YAML of a set. Without `set`, the YAML of all resources that no file declares, and the command that makes the file
 * their owner.
 */
export function ExportDialog({ set, onClose }: { readonly set?: string; readonly onClose: () => void }) {
  const { queries } = useConsole()
  const exported = useQuery(queries.exported(set))
  return (
    <Dialog
      title={set === undefined ? 'What no file declares' : `Set ${set}`}
      isOpen
      isWide
      onClose={onClose}
      actions={
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
      }
    >
      <Loaded query={exported}>
        {({ yaml, variables, resources }) =>
          resources.length === 0 ? (
            <p>Files declare everything already.</p>
          ) : (
            <>
              <Code label="Configuration" text={yaml} />
              {variables.length > 0 && (
                <p>
                  The credentials stay here: the file reads them from {variables.join(', ')} in the
                  environment of <code>gw serve</code>.
                </p>
              )}
              {set === undefined && (
                <>
                  <p>
                    Save it as gw.yaml and commit it. This command moves the resources into its ownership:
                  </p>
                  <Code
                    label="Command that adopts the resources"
                    text={`gw apply -c gw.yaml${resources.map(id => ` \\\n  --adopt '${id}'`).join('')}`}
                  />
                </>
              )}
            </>
          )
        }
      </Loaded>
    </Dialog>
  )
}
