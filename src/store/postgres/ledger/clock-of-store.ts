/** An expression: milliseconds since the epoch by the clock of the server, which all gateways of a store share. */
export const NOW_MS = 'cast(extract(epoch from clock_timestamp()) * 1000 as bigint)'
