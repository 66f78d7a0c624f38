/** `edgemcp events`: lists what a server in development delivers, and sends it again. */
import { isLoopback } from '../../worker/protocol/loopback.ts'
import { CliError, printable, printableJson } from '../cli-error.ts'

type Table = {
  readonly title: string
  /** Name in the report. */
  readonly member: string
  /** Members of an entry, by their headings. */
  readonly columns: Readonly<Record<string, string>>
}

const tables: readonly Table[] = [
  {
    title: 'Subscriptions',
    member: 'subscriptions',
    columns: { event: 'event', url: 'url', state: 'state', 'refresh before': 'refreshBefore', id: 'id' },
  },
  {
    title: 'Attempts since the server started',
    member: 'attempts',
    columns: {
      at: 'at',
      event: 'event',
      outcome: 'outcome',
      ms: 'durationMs',
      id: 'id',
      subscription: 'subscription',
    },
  },
  {
    title: 'Dead letters',
    member: 'deadLetters',
    columns: { at: 'at', reason: 'reason', id: 'id', subscription: 'subscription' },
  },
]

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
    const report = await request(server, { inside: 'events' })
    const texts = tables.map((table) => {
      const entries = report[table.member]
      if (!Array.isArray(entries)) throw otherServer(server)
      return formatTable(table, entries)
    })
    console.log(json ? printableJson(report) : printable(texts.join('\n\n')))
    return 0
  }
  const result = await request(server, { inside: 'events', id }, 'POST')
  const { redelivered } = result
  if (typeof redelivered !== 'number') throw otherServer(server)
  if (json) console.log(printableJson({ ok: redelivered > 0, ...result }))
  else if (redelivered === 0) throw new CliError(`No dead letter has the id "${id}": npx edgemcp events lists them.`)
  else console.log(`Sent again to ${redelivered} ${redelivered === 1 ? 'subscription' : 'subscriptions'}.`)
  return redelivered > 0 ? 0 : 1
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

/** This version of the package may differ from that of the server. */
const otherServer = ({ origin }: LocalServer): CliError =>
  new CliError(`The server at ${origin} has no events() in its plugins, or another version of edgemcp.`)

async function request(
  server: LocalServer,
  query: Record<string, string>,
  method = 'GET',
): Promise<Readonly<Record<string, unknown>>> {
  const { origin, cookie } = server
  const address = `${origin}/?${new URLSearchParams(query)}`
  const response = await fetch(address, { method, headers: { Cookie: cookie }, redirect: 'manual' }).catch(() => {
    throw new CliError(`Nothing answers at ${origin}: run npx wrangler dev, or give --url.`)
  })
  if (response.status === 403)
    throw new CliError(
      `The inspector key is missing, or of an earlier start: open ${origin}/ once, and give --url with the link that the terminal of the server prints. Or set EDGEMCP_INSPECTOR_KEY in .dev.vars and for this command.`,
    )
  const answer = Object(await response.json().catch(() => undefined))
  if (response.ok && response.headers.get('Content-Type')?.startsWith('application/json')) return answer
  if (response.status === 404 && typeof answer.problem === 'string') throw otherServer(server)
  throw new CliError(
    `The server at ${origin} has no inspector, which answers this command: it is not edgemcp in development, its endpoint is at /, or its tenants have paths.`,
  )
}

function formatTable({ title, columns }: Table, entries: readonly unknown[]): string {
  if (entries.length === 0) return `${title}: none`
  const rows = entries.map((entry) => Object.values(columns).map((member) => formatCell(Object(entry)[member] ?? '')))
  const lines = [Object.keys(columns), ...rows]
  const widths = Object.keys(columns).map((_, index) => Math.max(...lines.map((cells) => cells[index]?.length ?? 0)))
  const texts = lines.map((cells) => cells.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('  '))
  return [`${title}:`, ...texts.map((text) => `  ${text.trimEnd()}`)].join('\n')
}

/** A cell is one line. */
const formatCell = (value: unknown): string =>
  typeof value === 'string' ? value.replaceAll('\n', ' ') : JSON.stringify(value)
