import { useState } from 'react'
import type { Change, Fields, Kind } from '../api/changes.ts'
import { ChangeDialog, type FieldError } from './change-dialog.tsx'
import { Dialog } from './dialog.tsx'
import { ChoiceField, Field, type Option, TextField } from './fields.tsx'
import { pairsIn } from './pairs.ts'

/** One field of a resource, by its path in the configuration. */
export interface FormField {
  /** Such as `limits.rpm`. */
  readonly path: string
  readonly label: string
  readonly hint?: string
  readonly type: 'text' | 'number' | 'limit' | 'list' | 'pairs' | 'switch' | 'secret' | readonly string[]
  readonly isRequired?: true
  /** Behind "More". */
  readonly isRare?: true
  /** Without it the whole member of the resource that it is in is absent. */
  readonly isHead?: true
  /** Names to choose from. */
  readonly suggestions?: readonly string[]
  /** Only in this variant of the resource. */
  readonly variant?: string
}

/** The choice between variants of a kind: each has fields that the others lack. */
export interface Variants {
  readonly label: string
  readonly options: readonly Option[]
  /** The variant that a resource is. */
  readonly of: (resource: Fields) => string
}

type Values = Readonly<Record<string, string>>

/**
 * The one form of a kind: it creates a resource, changes it, and makes the patch for what files own. A field that is
 * emptied gets its default again.
 */
export function ResourceForm({
  kind,
  title,
  fields: allFields,
  variants,
  resource: present,
  preset = {},
  namePrefix = '',
  endpoints,
  onClose,
  onDone,
}: {
  readonly kind: Exclude<Kind, 'binding'>
  readonly title: string
  readonly fields: readonly FormField[]
  readonly variants?: Variants
  /** Absent: a new one. */
  readonly resource?: Fields & { readonly name: string; readonly updated_revision: number }
  /** Values of a new one. */
  readonly preset?: Fields
  /** What the name of a new one starts with. */
  readonly namePrefix?: string
  /** Of a new publication: what it may be bound to at once. */
  readonly endpoints?: readonly string[]
  readonly onClose: () => void
  readonly onDone?: (name: string) => void
}) {
  // The one that the user has seen: what others change meanwhile is not undone. A field that both change is as the user entered
  // it, and the preview shows that.
  const [resource, setResource] = useState(present)
  const initial = valuesOf(allFields, resource ?? preset)
  const [variant, setVariant] = useState(variants?.of(resource ?? preset))
  const fields = allFields.filter(field => field.variant === undefined || field.variant === variant)
  const [name, setName] = useState(resource?.name ?? namePrefix)
  const [entered, setValues] = useState(initial)
  // What only another variant has goes away.
  const values = Object.fromEntries(fields.map(({ path }) => [path, entered[path] ?? '']))
  const [endpoint, bindTo] = useState('')
  const [change, setChange] = useState<Change>()
  const [hasRare, setRare] = useState(false)
  const [errors, setErrors] = useState<readonly FieldError[]>([])
  const errorOf = (path: string) =>
    errors.find(({ pointer = '' }) => `${pointer}/`.startsWith(`/${path.replaceAll('.', '/')}/`))?.detail
  const submit = () => {
    if (!resource) {
      const made = patchFrom(allFields, {}, values, {})
      const binding = endpoint !== '' && { bindTo: endpoint }
      setChange({ action: 'create', kind, name, fields: { ...preset, ...made }, ...binding })
      return
    }
    const patch = patchFrom(allFields, initial, values, resource)
    setChange({ action: 'update', kind, name, fields: patch, version: resource.updated_revision })
  }
  if (change)
    return (
      <ChangeDialog
        change={change}
        onBack={found => {
          setErrors(found)
          setChange(undefined)
          if (!present) return
          // What the user has not touched is as it is now; the rest goes on top of it.
          const latest = valuesOf(allFields, present)
          const isTouched = (path: string) => entered[path] !== initial[path]
          setValues({
            ...latest,
            ...Object.fromEntries(Object.entries(entered).filter(([path]) => isTouched(path))),
          })
          if (variants && variant === variants.of(resource ?? preset)) setVariant(variants.of(present))
          setResource(present)
        }}
        onClose={onClose}
        {...(onDone && { onDone: () => onDone(name) })}
      />
    )
  const shown = fields.filter(({ isRare, path }) => hasRare || !isRare || errorOf(path) !== undefined)
  return (
    <Dialog title={title} isOpen isWide onClose={onClose}>
      <form
        onSubmit={event => {
          event.preventDefault()
          submit()
        }}
      >
        <div className="form">
          {!resource && (
            <TextField
              label="Name"
              value={name}
              onChange={setName}
              required
              autoComplete="off"
              spellCheck={false}
              error={errorOf('name')}
              {...(namePrefix !== '' && { hint: `Starts with ${namePrefix}` })}
            />
          )}
          {variants && (
            <ChoiceField
              label={variants.label}
              value={variant ?? ''}
              options={variants.options}
              onChange={setVariant}
            />
          )}
          {endpoints && (
            <ChoiceField
              label="Endpoint"
              value={endpoint}
              options={['', ...endpoints].map(value => ({
                value,
                label: value === '' ? 'bind it later' : value,
              }))}
              onChange={bindTo}
              hint="That serves it."
            />
          )}
          {shown.map(field => (
            <Control
              key={field.path}
              field={
                resource && field.type === 'secret'
                  ? { ...field, hint: `${field.hint} Empty: unchanged.` }
                  : field
              }
              error={errorOf(field.path)}
              value={values[field.path] ?? ''}
              onChange={value => setValues({ ...entered, [field.path]: value })}
            />
          ))}
        </div>
        <footer className="actions">
          {!hasRare && fields.some(({ isRare }) => isRare) && (
            <button type="button" className="button quiet" onClick={() => setRare(true)}>
              More fields
            </button>
          )}
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary">
            Review
          </button>
        </footer>
      </form>
    </Dialog>
  )
}

function Control({
  field: { label, hint, type, isRequired, suggestions },
  error,
  value,
  onChange,
}: {
  readonly field: FormField
  readonly error: string | undefined
  readonly value: string
  readonly onChange: (value: string) => void
}) {
  if (type === 'switch')
    return (
      <Field label={label} hint={hint} error={error}>
        {control => (
          <input
            {...control}
            type="checkbox"
            checked={value === 'true'}
            onChange={event => onChange(String(event.target.checked))}
          />
        )}
      </Field>
    )
  if (type === 'pairs')
    return (
      <Field label={label} hint={hint ?? 'One a line: name: value'} error={error}>
        {control => (
          <textarea {...control} rows={3} value={value} onChange={event => onChange(event.target.value)} />
        )}
      </Field>
    )
  if (typeof type !== 'string')
    return (
      <Field label={label} hint={hint} error={error}>
        {control => (
          <select
            {...control}
            value={value}
            required={isRequired}
            onChange={event => onChange(event.target.value)}
          >
            {!isRequired && <option value="">default</option>}
            {type.map(option => (
              <option key={option}>{option}</option>
            ))}
          </select>
        )}
      </Field>
    )
  const isNumber = type === 'number' || type === 'limit'
  return (
    <Field label={label} hint={hint} error={error}>
      {control => (
        <>
          <input
            {...control}
            type={isNumber ? 'number' : type === 'secret' ? 'password' : 'text'}
            {...(isNumber && { min: 0, step: 1 })}
            value={value}
            required={isRequired}
            autoComplete={type === 'secret' ? 'new-password' : 'off'}
            spellCheck={false}
            {...(suggestions && { list: `${control.id}-names` })}
            onChange={event => onChange(event.target.value)}
          />
          {suggestions && (
            <datalist id={`${control.id}-names`}>
              {suggestions.map(name => (
                <option key={name}>{name}</option>
              ))}
            </datalist>
          )}
        </>
      )}
    </Field>
  )
}

function valuesOf(fields: readonly FormField[], resource: Fields): Values {
  return Object.fromEntries(fields.map(({ path, type }) => [path, textOf(at(resource, path), type)]))
}

function textOf(value: unknown, type: FormField['type']): string {
  if (value === undefined || value === null || type === 'secret') return ''
  if (Array.isArray(value)) return value.join(', ')
  if (type === 'pairs')
    return Object.entries(value)
      .map(([name, each]) => `${name}: ${pairText(each)}`)
      .join('\n')
  if (type === 'limit' && isObject(value)) return textOf(value[limitIn(value)], 'number')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The value of a pair. A reference to a secret is shown as such, and stays what it is while its text is the same. */
function pairText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The object in a text; undefined if it is none. */
function jsonIn(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** A JSON merge patch of the fields that differ; of a new resource, all that are filled in. */
function patchFrom(fields: readonly FormField[], before: Values, after: Values, resource: Fields): Fields {
  const patch: Record<string, unknown> = {}
  for (const { path, type } of fields) {
    const text = after[path] ?? ''
    if (text === (before[path] ?? '')) continue
    put(patch, path.split('.'), text === '' ? null : valueOf(text, type, at(resource, path)))
  }
  for (const { path, isHead } of fields) {
    const parent = path.slice(0, path.lastIndexOf('.'))
    if (!isHead || (after[path] ?? '') !== '') continue
    if (at(resource, parent) === undefined) delete patch[parent]
    else patch[parent] = null
  }
  return patch
}

function put(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [first = '', ...rest] = path
  if (rest.length === 0) {
    target[first] = value
    return
  }
  const inner = target[first]
  const member = isObject(inner) ? inner : {}
  target[first] = member
  put(member, rest, value)
}

function valueOf(text: string, type: FormField['type'], old: unknown): unknown {
  if (type === 'number') return Number(text)
  // The size of bursts and the mode stay.
  if (type === 'limit') return isObject(old) ? { ...old, [limitIn(old)]: Number(text) } : Number(text)
  if (type === 'switch') return text === 'true'
  if (type === 'list') return text.split(/[\s,]+/).filter(Boolean)
  if (type !== 'pairs') return text
  const before = isObject(old) ? old : {}
  const made = pairsIn(text)
  const gone = Object.keys(before).filter(name => !(name in made))
  const changed = Object.entries(made)
    .filter(([name, value]) => value !== pairText(before[name]))
    .map(([name, value]) => [name, isObject(before[name]) ? (jsonIn(value) ?? value) : value] as const)
  return Object.fromEntries([...changed, ...gone.map(name => [name, null] as const)])
}

/** The member that is the limit itself. */
function limitIn(limit: Readonly<Record<string, unknown>>): 'tokens' | 'limit' {
  return 'tokens' in limit ? 'tokens' : 'limit'
}

function at(resource: Fields, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), resource)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
