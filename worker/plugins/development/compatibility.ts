type Flags = Readonly<Record<string, boolean>>

/** From here on deleting all of an object deletes its alarm, which ended sessions rely on. */
const oldest = '2026-02-24'

let isDone = false

// The types of the platform do not have it yet.
const { compatibilityFlags: flags } = (globalThis as { Cloudflare?: { compatibilityFlags?: Flags } }).Cloudflare ?? {}

/** Warns of callback URLs that reach the origin server of the own zone. */
export function warnOfPrivateFetch(): void {
  if (flags?.global_fetch_strictly_public === false) {
    console.warn(
      'edgemcp/events needs compatibility_flags = ["global_fetch_strictly_public"] in wrangler.toml: without it, any subscriber reaches the origin server of your own zone',
    )
  }
}

/** Warns, once, of a compatibility date that is too old, and of a flag that is missing. The runtime names no date, but what each date changes. */
export function warnOfCompatibility(): void {
  if (isDone || !flags) return
  isDone = true
  if (flags.delete_all_deletes_alarm === false) warnOfOldDate(flags)
  if (flags.enable_request_signal === false) {
    console.warn(
      'edgemcp needs compatibility_flags = ["enable_request_signal"] in wrangler.toml: without it, calls of clients that disconnect run on',
    )
  }
}

function warnOfOldDate(flags: Flags): void {
  const effect = flags.rpc
    ? 'the Durable Objects of ended sessions are not deleted'
    : 'there is no RPC to Durable Objects, so input requests, sessions and limits fail'
  console.warn(
    `edgemcp needs compatibility_date = "${oldest}" or newer in wrangler.toml: with the date of this Worker, ${effect}`,
  )
}
