import { CommandError } from '../base/catalogue/command.ts'
import { didYouMean } from '../config/did-you-mean.ts'
import { type ListedPrice, listedPrice, PRICES_AS_OF } from '../config/vendors/prices.ts'
import { addressParts, VENDORS, type Vendor } from '../config/vendors/table.ts'
import { endpoint } from '../schema/endpoint.ts'
import { addressOf } from '../schema/node.ts'
import { modelName } from '../schema/scalars.ts'

/** The first upstream of a new configuration, as command-line options. */
export interface UpstreamOptions {
  /** An id of the vendor table. */
  readonly vendor: string
  readonly model?: string
  /** Replaces the address of the vendor table. */
  readonly baseUrl?: string
  /** Take the price from the price list. */
  readonly prices: boolean
}

export interface ChosenUpstream {
  readonly vendor: Vendor
  readonly model: string
  readonly baseUrl: string
  readonly price?: ListedPrice
}

/** @throws {CommandError} usage if an option is missing or unknown. */
export function chosenUpstream({ vendor: id, model, baseUrl, prices }: UpstreamOptions): ChosenUpstream {
  const vendor = VENDORS.get(id)
  if (vendor === undefined) throw unknownVendor(id)
  if (model === undefined || !modelName.safeParse(model).success) {
    throw new CommandError('usage', `Which model of ${vendor.title}? Pass --model NAME, without spaces.`, {
      hint: 'The name that the upstream accepts; applications call it by the same name.',
    })
  }
  const address = baseUrl ?? vendor.baseUrl
  const parts = addressParts({ ...vendor, baseUrl: address })
  if (parts.length > 0) {
    throw new CommandError('usage', `The address of ${vendor.title} has placeholders: ${parts.join(', ')}.`, {
      hint: `Pass it with them filled in: --base-url ${vendor.baseUrl}`,
    })
  }
  const checked = endpoint.safeParse({ protocol: vendor.protocol, base_url: address, served_model: model })
  if (!checked.success) {
    throw new CommandError('usage', `--base-url: ${checked.error.issues[0]?.message ?? 'not an address'}.`)
  }
  return { vendor, model, baseUrl: addressOf(checked.data), ...(prices && { price: priceOf(vendor, model) }) }
}

function priceOf({ account, title }: Vendor, model: string): ListedPrice {
  const price = listedPrice(account, model)
  if (price !== undefined) return price
  throw new CommandError('usage', `The price list of ${PRICES_AS_OF} has no ${model} of ${title}.`, {
    hint: 'Leave out --prices, and add the price to the generated file.',
  })
}

function unknownVendor(id: string): CommandError {
  const suggestion = didYouMean(id, VENDORS.keys())
  const question = suggestion === undefined ? '' : `; did you mean ${suggestion}?`
  return new CommandError('usage', `There is no vendor ${JSON.stringify(id)} in the table${question}`, {
    hint: `One of: ${[...VENDORS.keys()].join(', ')}. For any other vendor, use the most similar one and pass --base-url.`,
  })
}
