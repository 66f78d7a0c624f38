/**
 * The MCP Registry: `server.json`, and the proof that its publisher controls the domain of its name.
 *
 * @see https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json
 * @see https://modelcontextprotocol.io/registry/authentication
 * @see https://github.com/modelcontextprotocol/registry/blob/main/internal/validators/validators.go
 */
import type { Finding } from '../doctor/finding.ts'
import { type Directory, type Problem, withOwn } from './directory.ts'
import { type Json, jsonText } from './json.ts'
import { endpointProblem, tokenInUrl } from './rules.ts'
import { paths, type SubmittedServer } from './subject.ts'

const schema = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'
/** Characters that texts may have. */
const limits = { name: 200, title: 100, description: 100, version: 255, icon: 255 }

const label = '[a-z\\d](?:[a-z\\d-]*[a-z\\d])?'
const namePattern = new RegExp(`^${label}(?:\\.${label})+/[a-z\\d][a-z\\d._-]*[a-z\\d]$`, 'i')
const isName = (name: unknown): name is string =>
  typeof name === 'string' && name.length <= limits.name && namePattern.test(name)

/**
 * `latest`, `^1.2.3`, `>=1.2.3`, `1.x`, `1.2.3 - 2.0.0`, `1 || 2`: not one release. The registry takes `1.2.3-next` for one as well, because of its "x".
 */
const isRange = (version: string): boolean =>
  /^(?:latest$|[\^~<>=])|\|\|| - /.test(version) ||
  (/^(?:v?\d+|[x*])(?:\.(?:\d+|[x*])){1,2}(?:-[a-z\d.-]+)?$/i.test(version) && /[x*]/i.test(version))

const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''
const isHttps = (value: unknown): value is string =>
  typeof value === 'string' && URL.parse(value)?.protocol === 'https:' && !/\s/.test(value)
const lengthOf = (text: string): number => [...text].length

const mimeTypes = ['image/png', 'image/jpeg', 'image/jpg', 'image/svg+xml', 'image/webp']

function isIcon({ src, mimeType, sizes = [] }: Json): boolean {
  if (!isHttps(src) || src.length > limits.icon) return false
  if (mimeType !== undefined && !mimeTypes.includes(String(mimeType))) return false
  return Array.isArray(sizes) && sizes.every((size) => /^(?:\d+x\d+|any)$/.test(String(size)))
}

const repositories: Readonly<Record<string, RegExp>> = {
  github: /^https?:\/\/(?:www\.)?github\.com\/[\w.-]+\/[\w.-]+\/?$/,
  gitlab: /^https?:\/\/(?:www\.)?gitlab\.com\/[\w.-]+(?:\/[\w.-]+)+\/?$/,
}

function isRepository({ url, source, subfolder = '' }: Json): boolean {
  const pattern = Object.hasOwn(repositories, String(source)) ? repositories[String(source)] : undefined
  if (typeof url !== 'string' || !pattern?.test(url)) return false
  return subfolder === '' || /^(?!\.{1,2}(?:\/|$))[\w.-]+(?:\/(?!\.{1,2}(?:\/|$))[\w.-]+)*$/.test(String(subfolder))
}

type Check = Problem & { readonly rule: string; readonly member: keyof ServerJson }

/** Returns what the registry refuses in a `server.json`. @param takesDiscovery see `SubmittedServer` */
function mistakesIn(server: ServerJson, takesDiscovery: boolean): Check[] {
  const { name, description, title, version, websiteUrl, repository, icons = [], remotes = [] } = server
  const found: (Check | false)[] = [
    !isName(name) && {
      rule: 'registry-name',
      member: 'name',
      problem:
        name === undefined
          ? 'The server has no name for the registry.'
          : `The registry does not take the name "${name}": it must be a domain in reverse order, one slash and a name of at least two characters, with a letter or digit at both ends, and at most ${limits.name} characters in all.`,
      fix: takesDiscovery
        ? "Add discovery({ name: 'com.example/weather' }) of edgemcp/discovery to the plugins of serve(), or pass --name com.example/weather."
        : 'Pass --name com.example/weather.',
    },
    !(isText(description) && lengthOf(description) <= limits.description) && {
      rule: 'registry-description',
      member: 'description',
      problem: isText(description)
        ? `The description has ${lengthOf(description)} characters: the registry takes ${limits.description}.`
        : 'The server has no description, which the registry requires.',
      fix: `Write one of at most ${limits.description} characters: createServer({ description: '…' })${takesDiscovery ? ", or discovery({ description: '…' }) if that one should stay" : ''}.`,
    },
    title !== undefined &&
      !(isText(title) && lengthOf(title) <= limits.title) && {
        rule: 'registry-title',
        member: 'title',
        problem: isText(title)
          ? `The title has ${lengthOf(title)} characters: the registry takes ${limits.title}.`
          : 'The title has no visible characters.',
        fix: `Write a title of at most ${limits.title} characters in createServer().`,
      },
    !(isText(version) && version.length <= limits.version && !isRange(version.trim())) && {
      rule: 'registry-version',
      member: 'version',
      problem: `The version "${version}" is not one release: the registry takes an exact version and refuses what looks like a range, such as a text with "x" after the numbers.`,
      fix: "Write the version of this release, as in createServer({ version: '1.2.0' }), and a new one for each publication.",
    },
    websiteUrl !== undefined &&
      !isHttps(websiteUrl) && {
        rule: 'registry-website',
        member: 'websiteUrl',
        problem: `The websiteUrl "${websiteUrl}" does not begin with https://, which the registry requires.`,
        fix: 'Write an HTTPS URL in createServer().',
      },
    repository !== undefined &&
      !isRepository(repository) && {
        rule: 'registry-repository',
        member: 'repository',
        problem: `The registry does not take the repository ${JSON.stringify(repository)}: it knows the sources github and gitlab, with URLs of repositories at github.com and gitlab.com, and a relative path as subfolder.`,
        fix: "Write it as in repository: { url: 'https://github.com/example/weather', source: 'github', subfolder: 'server' }, or leave it out.",
      },
    !icons.every(isIcon) && {
      rule: 'registry-icons',
      member: 'icons',
      problem: `The registry takes icons with HTTPS URLs of at most ${limits.icon} characters, the mimeType ${mimeTypes.join(', ')}, and sizes such as 48x48 or any.`,
      fix: 'Correct the icons in this file, or remove them.',
    },
    ...[ownIn(remotes) ?? {}, ...remotes.filter((remote) => remote !== ownIn(remotes))].map(
      ({ url, variables }): Check | false => {
        const fix = takesDiscovery ? undefined : tenantFix
        const problem = endpointProblem(typeof url === 'string' ? url : undefined, fix, Object.keys(variables ?? {}))
        return problem !== undefined && { rule: 'endpoint-url', member: 'remotes', ...problem }
      },
    ),
  ]
  return found.filter((one) => one !== false)
}

const tenantFix = 'Add a route to the configuration, or pass --url https://mcp.example.com/{tenant}/mcp.'

const file = 'server.json'

export const mcpRegistry: Directory = {
  title: 'the MCP Registry',
  rules: [tokenInUrl],
  files({ server }, read) {
    const existing = read(file, { repository: 'object', icons: 'objects', remotes: 'objects' }) ?? {}
    const declared = declaredIn(server, existing)
    const written: ServerJson = { ...existing, ...declared }
    const { createdAt, servedAt, takesDiscovery } = server
    const findings = mistakesIn(written, takesDiscovery).map(({ member, ...found }): Finding => {
      const declaredAt = ['name', 'repository', 'remotes'].includes(member) ? servedAt : createdAt
      const isOfUser = existing[member] !== undefined && declared[member] === undefined
      return { level: 'error', ...(isOfUser ? { file } : declaredAt), ...found }
    })
    const isComplete = isName(written.name) && isText(written.description) && ownIn(written.remotes) !== undefined
    return {
      files: [{ file, text: isComplete ? jsonText(written) : undefined }],
      findings: [...findings, ...iconHints(server), ...proofHints(written.name, server)],
    }
  },
}

type ServerJson = Json & {
  readonly name?: unknown
  readonly title?: unknown
  readonly description?: unknown
  readonly version?: unknown
  readonly websiteUrl?: unknown
  readonly repository?: Json
  readonly icons?: readonly Json[]
  readonly remotes?: readonly Remote[]
}
type Remote = Json & { readonly url?: unknown; readonly variables?: Json }

const isOwn = ({ type }: Json): boolean => type === 'streamable-http'
const ownIn = (remotes: readonly Remote[] = []): Remote | undefined => remotes.find(isOwn)

/** Returns what the server declares. @param existing members that a user has added to them are kept */
function declaredIn({ registryName, name, card, info, url }: SubmittedServer, existing: ServerJson): ServerJson {
  const icons = (info.icons ?? []).filter(isIcon)
  // A card of a server without a description has its title or its name.
  const isDescribed = info.description || (card?.description !== info.title && card?.description !== name)
  const declared = {
    $schema: schema,
    name: registryName,
    title: info.title,
    description: (isDescribed ? undefined : existing.description) ?? card?.description ?? info.description,
    version: info.version,
    websiteUrl: info.websiteUrl,
    repository: card?.repository,
    icons: icons.length > 0 ? icons : undefined,
    remotes: url === undefined ? undefined : withOwn(existing.remotes, isOwn, (own) => remoteOf(url, own)),
  }
  return Object.fromEntries(Object.entries(declared).filter(([, value]) => value !== undefined && value !== ''))
}

const remoteOf = (url: string, own: Remote = {}): Remote => ({
  ...own,
  type: 'streamable-http',
  url,
  ...(url.includes('{tenant}') && {
    variables: { tenant: { description: 'Name of your organization', isRequired: true }, ...own.variables },
  }),
})

function iconHints({ info, createdAt }: SubmittedServer): Finding[] {
  const refused = (info.icons ?? []).find((icon) => !isIcon(icon))
  if (!refused) return []
  return [
    {
      rule: 'registry-icons',
      level: 'hint',
      ...createdAt,
      problem: `server.json leaves out the icon ${refused.src.slice(0, 60)}: the registry takes HTTPS URLs of at most ${limits.icon} characters, the types ${mimeTypes.join(', ')}, and sizes such as 48x48 or any.`,
      fix: 'Serve such an icon at an HTTPS URL, and write that URL in createServer().',
    },
  ]
}

function proofHints(name: unknown, { proves, servedAt, takesDiscovery }: SubmittedServer): Finding[] {
  // GitHub proves names of its users.
  if (!isName(name) || name.startsWith('io.github.') || proves.registryAuth) return []
  const domain = name.split('/')[0]?.split('.').reverse().join('.')
  const serve = takesDiscovery
    ? 'Pass the line with your public key, discovery({ registryAuth: env.REGISTRY_AUTH })'
    : 'Serve the line with your public key there, with combine() of edgemcp/compose'
  return [
    {
      rule: 'registry-auth',
      level: 'hint',
      ...servedAt,
      problem: `This Worker does not serve ${paths.registryAuth}, with which the registry verifies that you control ${domain}.`,
      fix: `${serve}, if this Worker serves ${domain}; otherwise publish it there, or in a TXT record of ${domain}.`,
    },
  ]
}
