/** Rules that several directories have. */
import { isLoopback } from '../../worker/protocol/loopback.ts'
import type { Finding } from '../doctor/finding.ts'
import { type Problem, type Rule, serverRule, toolRule } from './directory.ts'
import type { Subject } from './subject.ts'

/** @see https://claude.com/docs/connectors/building/review-criteria */
export const toolName = toolRule('tool-name', 'error', ({ name }) => {
  if (name.length <= 64) return undefined
  return {
    problem: `The name "${name}" has ${name.length} characters: the directory takes 64.`,
    fix: 'Rename the tool with at most 64 characters.',
  }
})

export const toolDescription = toolRule('tool-description', 'error', ({ name, description }) => {
  if (description?.trim()) return undefined
  return {
    problem: `The tool "${name}" has no description: reviewers compare what it does with what it says.`,
    fix: 'Describe what the tool does and when to use it.',
  }
})

/** The same tool cannot only read and destroy. */
export const contradictingHints = toolRule('contradicting-hints', 'error', ({ name, annotations }) => {
  if (annotations?.readOnlyHint !== true || annotations.destructiveHint !== true) return undefined
  return {
    problem: `The tool "${name}" declares readOnlyHint: true and destructiveHint: true: it cannot do both.`,
    fix: 'Declare what the tool does. If it reads and changes data, make two tools.',
  }
})

/**
 * Characters without a shape: zero-width, fillers, text directions, tags and selectors of variants, which people do not see. Flags of regions
 * contain tags, and Han characters have variants.
 */
const hidden =
  /[\u00ad\u180e\u200b\u2060-\u2064\u3164\ufeff\u202a-\u202e\u2066-\u2069]|(?<!\u{1f3f4}[\u{e0000}-\u{e007f}]*)[\u{e0000}-\u{e007f}]|(?<!\p{Script=Han})[\u{e0100}-\u{e01ef}]/u

export const hiddenCharacters = toolRule('hidden-characters', 'error', (tool) => {
  const { name, title, description, annotations, inputSchema, outputSchema } = tool
  const texts = [name, title, annotations?.title, description, JSON.stringify([inputSchema, outputSchema])]
  const [found] = hidden.exec(texts.join('\n')) ?? []
  if (found === undefined) return undefined
  const code = found.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')
  return {
    problem: `The texts of the tool "${name}" contain the invisible character U+${code}: reviewers refuse hidden text.`,
    fix: 'Type the texts again, without invisible characters.',
  }
})

/** ChatGPT and Copilot Studio give a model 128 tools. */
export const toolCount = {
  name: 'tool-count',
  check: ({ tools, locate }: Subject): Finding[] => {
    const first = tools[128]
    if (!first) return []
    return [
      {
        rule: 'tool-count',
        level: 'error',
        ...locate(first.name),
        problem: `The server has ${tools.length} tools: the model gets 128.`,
        fix: 'Serve fewer tools: combine those that differ in one argument, or make several servers.',
      },
    ]
  },
} satisfies Rule

/** A URL with values for its variables. */
const parsedUrl = (url: string): URL | null => URL.parse(url.replaceAll(/\{[^{}]*\}/g, '1'))

/**
 * Returns what makes a URL unusable for clients.
 *
 * @param fix how to say the URL
 * @param variables that it may contain
 */
export function endpointProblem(
  url: string | undefined,
  fix = "Set origin: 'https://mcp.example.com' in discovery(), add a route to the configuration, or pass --url https://mcp.example.com/mcp.",
  variables: readonly string[] = [],
): Problem | undefined {
  if (url === undefined) return { problem: 'Nothing says at which URL clients reach the server.', fix }
  const parsed = parsedUrl(url)
  if (parsed?.protocol !== 'https:') return { problem: `The URL ${url} does not begin with https://.`, fix }
  if (isLoopback(parsed.hostname)) {
    return { problem: `The URL ${url} is that of your machine, which clients cannot reach.`, fix }
  }
  const names = [...url.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name)
  const unknown = names.find((name) => !variables.includes(name))
  if (unknown === undefined) return undefined
  if (unknown !== 'tenant') return { problem: `The URL ${url} has the variable {${unknown}} without a value.`, fix }
  return {
    problem: `The URL ${url} is different for each tenant: the directory takes one URL.`,
    fix: tenantFix,
  }
}

const tenantFix =
  'Serve the tenants at one URL, with the tenant in the token, or pass the URL of one tenant with --url.'

export const endpointUrl = serverRule('endpoint-url', 'error', ({ url, takesDiscovery }) =>
  endpointProblem(url, takesDiscovery ? undefined : tenantFix),
)

const secretName =
  /token|secret|passw|credential|(?:api|app|access|auth)[-_]?key|(?:^|[-_])key$|^(?:auth|authorization|jwt|sig|signature)$/i

/** A file with such a URL is not written. */
export const tokenInUrl = serverRule('token-in-url', 'error', ({ url }) => {
  const parsed = parsedUrl(url ?? '')
  const place =
    parsed?.username || parsed?.password
      ? 'before the "@"'
      : [...(parsed?.searchParams.keys() ?? [])]
          .filter((name) => secretName.test(name))
          .map((name) => `in "${name}"`)[0]
  if (place === undefined) return undefined
  return {
    problem: `The URL of the server has a credential ${place}: everyone who sees the listing has it.`,
    fix: 'Authenticate users with OAuth: signIn() or bearer().',
  }
})

export const staticToken = serverRule('static-token', 'error', ({ auth }) => {
  if (auth !== 'static') return undefined
  return {
    problem:
      'Callers need a credential that is no token of OAuth, such as an API key: users of the host cannot enter one.',
    fix: 'Authenticate users with OAuth, as in auth: signIn(…) or bearer(…). oneOf(bearer(…), apiKeys()) accepts both.',
  }
})

/** @see https://modelcontextprotocol.io/seps/1865-mcp-apps-interactive-user-interfaces-for-mcp */
export const appVisibility = toolRule('app-visibility', 'error', ({ name, _meta }) => {
  const { visibility } = uiOf(_meta)
  if (visibility === undefined) return undefined
  const isList = Array.isArray(visibility) && visibility.length > 0
  if (isList && visibility.every((one) => one === 'model' || one === 'app')) return undefined
  return {
    problem: `The tool "${name}" has the _meta.ui.visibility ${JSON.stringify(visibility)}, which hosts do not know.`,
    fix: "Write ['model'], ['app'] for a tool that only the app calls, or ['model', 'app'], as in _meta: chart.toolMeta(['app']).",
  }
})

export const appDocument = toolRule('app-document', 'error', ({ name, _meta }, { server }) => {
  const { resourceUri: uri } = uiOf(_meta)
  if (!server || typeof uri !== 'string' || server.apps.some((app) => app.uri === uri)) return undefined
  // A template may have it.
  if (server.entries.some((entry) => entry.kind === 'resource' && /^ui:.*\{/.test(entry.name))) return undefined
  return {
    problem: `The tool "${name}" shows its results in ${uri}, which the server does not have.`,
    fix: `Register the app, as in const chart = app('${uri}', { description, html }) and server.use(chart).`,
  }
})

type Ui = { readonly visibility?: unknown; readonly resourceUri?: unknown }

function uiOf(_meta: { readonly ui?: unknown } | undefined): Ui {
  const ui = _meta?.ui
  return typeof ui === 'object' && ui !== null ? ui : {}
}
