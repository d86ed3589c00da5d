import { InvalidArgumentError, Option } from 'commander'

/** `--url` means the control plane, in every command. */
export function controlUrlOption(description: string): Option {
  return new Option('--url <url>', description).argParser(controlAddress)
}

/** Rejects `--url` of commands that address a gateway: the port would be wrong. */
export function noUrlOption(): Option {
  return new Option('--url <url>').hideHelp().argParser(() => {
    throw new InvalidArgumentError(
      '`--url` is the control plane in every command; use --gateway http://host:8090 for a gateway.',
    )
  })
}

function controlAddress(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return url
  throw new InvalidArgumentError('Write http:// or https:// and a host, such as http://127.0.0.1:8080.')
}
