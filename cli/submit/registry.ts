/**
 * The MCP Registry: `server.json`, and the proof that its publisher controls the domain of its name.
 *
 * @see https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json
 * @see https://modelcontextprotocol.io/registry/authentication
 */
import { type Directory, type Json, jsonText, serverRule } from './directory.ts'
import { endpointUrlOrTemplate, tokenInUrl } from './rules.ts'
import { paths, type SubmittedServer } from './subject.ts'

const schema = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'
const namePattern = /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/
/** Characters that texts may have. */
const limits = { name: 200, title: 100, description: 100, version: 255, icon: 255 }

const isName = (name: unknown): name is string =>
  typeof name === 'string' && namePattern.test(name) && name.length <= limits.name

/** `latest`, `^1.2.3`, `>=1.2.3`, `1.x`, `1.2.3 - 2.0.0`, `1 || 2`: not one release. */
const isRange = (version: string): boolean => /^(?:latest|[\^~<>=].*)$|(?:^|\.)[x*](?:\.|$)|\|\|| - /i.test(version)

const name = serverRule('registry-name', 'error', ({ registryName }) => {
  if (isName(registryName)) return undefined
  return {
    problem:
      registryName === undefined
        ? 'The server has no name for the registry.'
        : `The registry does not take the name "${registryName}": it must be a domain in reverse order, one slash and a name, with at most ${limits.name} characters.`,
    fix: "Add discovery({ name: 'com.example/weather' }) of edgemcp/discovery to the plugins of serve(), or pass --name com.example/weather.",
  }
})

const description = serverRule('registry-description', 'error', ({ card, info, createdAt }) => {
  const text = card?.description ?? info.description
  if (text?.trim() && [...text].length <= limits.description) return undefined
  return {
    ...createdAt,
    problem: text?.trim()
      ? `The description has ${[...text].length} characters: the registry takes ${limits.description}.`
      : 'The server has no description, which the registry requires.',
    fix: `Write one of at most ${limits.description} characters: createServer({ description: '…' }), or discovery({ description: '…' }) if that one should stay.`,
  }
})

const title = serverRule('registry-title', 'error', ({ info, createdAt }) => {
  if ([...(info.title ?? '')].length <= limits.title) return undefined
  return {
    ...createdAt,
    problem: `The title has ${[...(info.title ?? '')].length} characters: the registry takes ${limits.title}.`,
    fix: `Write a title of at most ${limits.title} characters in createServer().`,
  }
})

const version = serverRule('registry-version', 'error', ({ info: { version }, createdAt }) => {
  if (version.trim() && version.length <= limits.version && !isRange(version)) return undefined
  return {
    ...createdAt,
    problem: `The version "${version}" is not one release: the registry takes an exact version and refuses ranges.`,
    fix: "Write the version of this release, as in createServer({ version: '1.2.0' }), and a new one for each publication.",
  }
})

const icons = serverRule('registry-icons', 'hint', ({ info, createdAt }) => {
  const refused = (info.icons ?? []).filter(({ src }) => !isIconUrl(src))
  if (!refused[0]) return undefined
  return {
    ...createdAt,
    problem: `server.json leaves out the icon ${refused[0].src.slice(0, 60)}: the registry takes HTTPS URLs of at most ${limits.icon} characters.`,
    fix: 'Serve the icon at an HTTPS URL, and write that URL in createServer().',
  }
})

const isIconUrl = (src: string) => src.startsWith('https://') && src.length <= limits.icon

const proof = serverRule('registry-auth', 'hint', ({ registryName, page }) => {
  // GitHub proves names of its users.
  if (!isName(registryName) || registryName.startsWith('io.github.') || page(paths.registryAuth) !== undefined)
    return undefined
  const domain = registryName.split('/')[0]?.split('.').reverse().join('.')
  return {
    problem: `This Worker does not serve ${paths.registryAuth}, with which the registry verifies that you control ${domain}.`,
    fix: `Pass the line with your public key, discovery({ registryAuth: env.REGISTRY_AUTH }), if this Worker serves ${domain}; otherwise publish it there, or in a TXT record of ${domain}.`,
  }
})

export const mcpRegistry: Directory = {
  title: 'the MCP Registry',
  rules: [name, description, title, version, endpointUrlOrTemplate, tokenInUrl, icons, proof],
  files({ server }, read) {
    const file = 'server.json'
    const isComplete = isName(server.registryName) && server.url !== undefined
    return { files: [{ file, text: isComplete ? jsonText(serverJson(server, read(file))) : undefined }] }
  },
}

/** @param existing what a user has added is kept: the server declares the other members */
function serverJson({ registryName, card, info, url }: SubmittedServer, existing: Json = {}): Json {
  const { remotes: [first, ...others] = [] } = existing as { remotes?: Json[] }
  const icons = (info.icons ?? []).filter(({ src }) => isIconUrl(src))
  return {
    ...existing,
    $schema: schema,
    name: registryName,
    ...(info.title && { title: info.title }),
    description: card?.description ?? info.description,
    version: info.version,
    ...(info.websiteUrl && { websiteUrl: info.websiteUrl }),
    ...(card?.repository && { repository: card.repository }),
    ...(icons.length > 0 && { icons }),
    remotes: [
      {
        ...first,
        type: 'streamable-http',
        url,
        ...(url?.includes('{tenant}') && {
          variables: {
            tenant: { description: 'Name of your organization', isRequired: true },
            ...(first?.variables ?? {}),
          },
        }),
      },
      ...others,
    ],
  }
}
