/** `edgemcp events`: lists what a server in development delivers, and sends it again. */
import { isLoopback } from '../../worker/protocol/loopback.ts'
import { CliError, printable } from '../cli-error.ts'

type EventsReport = {
  readonly subscriptions: readonly {
    readonly id: string
    readonly event: string
    readonly url: string
    readonly state: string
    readonly refreshBefore: string
  }[]
  /** The latest ones since the server started. `outcome`: `delivered`, the status of another response, or why there is none. */
  readonly attempts: readonly {
    readonly id: string
    readonly event: string
    readonly subscription: string
    readonly outcome: number | string
    readonly durationMs: number
    readonly at: string
  }[]
  readonly deadLetters: readonly {
    readonly id: string
    readonly subscription: string
    readonly reason: string
    readonly at: string
  }[]
}

/** @returns 1 when there is nothing to send again, otherwise 0 */
export async function events(
  action: string | undefined,
  { url = 'http://127.0.0.1:8787', json }: { readonly url?: string; readonly json?: boolean },
  id: string | undefined,
): Promise<number> {
  if (action !== undefined && action !== 'redeliver')
    throw new CliError(`Give nothing, or "redeliver" and an id: "${action}" is unexpected.`)
  if (action !== undefined && id === undefined)
    throw new CliError('Give the id of an event: npx edgemcp events lists them.')
  const server = serverAt(url)
  if (id === undefined) {
    const report = await request<EventsReport>(server, { inside: 'events' })
    console.log(json ? JSON.stringify(report, null, 2) : printable(formatReport(report)))
    return 0
  }
  const result = await request<{ redelivered: number }>(server, { inside: 'events', id }, 'POST')
  if (json) console.log(JSON.stringify({ ok: result.redelivered > 0, ...result }, null, 2))
  else if (result.redelivered === 0)
    throw new CliError(`No dead letter has the id "${id}": npx edgemcp events lists them.`)
  else
    console.log(`Sent again to ${result.redelivered} ${result.redelivered === 1 ? 'subscription' : 'subscriptions'}.`)
  return result.redelivered > 0 ? 0 : 1
}

type LocalServer = { readonly origin: string; readonly cookie: string }

/** @throws CliError for a URL of another machine, which must not get the key */
function serverAt(text: string): LocalServer {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !isLoopback(url.hostname))
    throw new CliError(`Give --url of a server on this machine, such as http://127.0.0.1:8787, not "${text}".`)
  const key = url.searchParams.get('inspector') ?? process.env.EDGEMCP_INSPECTOR_KEY ?? ''
  return { origin: url.origin, cookie: `edgemcp-inspector-${url.port || 'default'}=${key}` }
}

async function request<T>({ origin, cookie }: LocalServer, query: Record<string, string>, method = 'GET'): Promise<T> {
  const address = `${origin}/?${new URLSearchParams(query)}`
  const response = await fetch(address, { method, headers: { Cookie: cookie }, redirect: 'manual' }).catch(() => {
    throw new CliError(`Nothing answers at ${origin}: run npx wrangler dev, or give --url.`)
  })
  if (response.status === 403)
    throw new CliError(
      `The inspector key is missing, or of an earlier start: open ${origin}/ once, and give --url with the link that the terminal of the server prints. Or set EDGEMCP_INSPECTOR_KEY in .dev.vars and for this command.`,
    )
  const isReport = response.ok && response.headers.get('Content-Type')?.startsWith('application/json')
  if (!isReport) throw new CliError(`The server at ${origin} is not edgemcp in development, or its endpoint is at /.`)
  // This version of the package may differ from that of the server.
  return (await response.json()) as T
}

function formatReport({ subscriptions, attempts, deadLetters }: EventsReport): string {
  return [
    formatTable(
      'Subscriptions',
      ['event', 'url', 'state', 'refresh before', 'id'],
      subscriptions.map(({ id, event, url, state, refreshBefore }) => [event, url, state, refreshBefore, id]),
    ),
    formatTable(
      'Attempts since the server started',
      ['at', 'event', 'outcome', 'ms', 'id', 'subscription'],
      attempts.map(({ at, event, outcome, durationMs, id, subscription }) => {
        return [at, event, String(outcome), String(durationMs), id, subscription]
      }),
    ),
    formatTable(
      'Dead letters',
      ['at', 'reason', 'id', 'subscription'],
      deadLetters.map(({ at, reason, id, subscription }) => [at, reason, id, subscription]),
    ),
  ].join('\n\n')
}

function formatTable(title: string, columns: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return `${title}: none`
  const widths = columns.map((column, index) => Math.max(column.length, ...rows.map((row) => row[index]?.length ?? 0)))
  const lines = [columns, ...rows].map((row) => row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('  '))
  return [`${title}:`, ...lines.map((line) => `  ${line.trimEnd()}`)].join('\n')
}
