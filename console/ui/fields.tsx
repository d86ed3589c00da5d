import { type ReactNode, useId } from 'react'
import { Prose } from './page.tsx'

/** A labelled control. Hint and error are read with it. */
export function Field({
  label,
  hint,
  error,
  children,
}: {
  readonly label: string
  readonly hint?: ReactNode
  readonly error?: string | undefined
  readonly children: (control: {
    readonly id: string
    readonly 'aria-describedby': string
    readonly 'aria-invalid': boolean
  }) => ReactNode
}) {
  const id = useId()
  const isInvalid = error !== undefined
  return (
    <div className={isInvalid ? 'field invalid' : 'field'}>
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': `${id}-hint`, 'aria-invalid': isInvalid })}
      <p className="hint" id={`${id}-hint`}>
        {error === undefined ? hint : <Prose text={error} />}
      </p>
    </div>
  )
}

/** A text field with its label. */
export function TextField({
  label,
  hint,
  error,
  value,
  onChange,
  ...input
}: {
  readonly label: string
  readonly hint?: ReactNode
  readonly error?: string | undefined
  readonly value: string
  readonly onChange: (value: string) => void
} & Pick<
  React.ComponentProps<'input'>,
  | 'type'
  | 'required'
  | 'placeholder'
  | 'autoComplete'
  | 'inputMode'
  | 'disabled'
  | 'list'
  | 'min'
  | 'spellCheck'
>) {
  return (
    <Field label={label} hint={hint} error={error}>
      {control => (
        <input {...input} {...control} value={value} onChange={event => onChange(event.target.value)} />
      )}
    </Field>
  )
}

export interface Option {
  readonly value: string
  readonly label: string
}

/** A choice of few. */
export function ChoiceField({
  label,
  hint,
  error,
  value,
  options,
  onChange,
  disabled,
}: {
  readonly label: string
  readonly hint?: ReactNode
  readonly error?: string | undefined
  readonly value: string
  readonly options: readonly Option[]
  readonly onChange: (value: string) => void
  readonly disabled?: boolean
}) {
  return (
    <Field label={label} hint={hint} error={error}>
      {control => (
        <select
          {...control}
          value={value}
          disabled={disabled}
          onChange={event => onChange(event.target.value)}
        >
          {options.map(option => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}
