/** Documents, two templates of resources made on request, and tools that refer to them. */
import { embeddedResource, McpError, type ResourceContents, resourceLink, type Server, text, toolError } from 'edgemcp'
import * as z from 'zod'
import architecture from './documents/architecture.md'
import extension from './documents/extension.md'
import features from './documents/features.md'
import howItWorks from './documents/how-it-works.md'
import instructions from './documents/instructions.md'
import startup from './documents/startup.md'
import structure from './documents/structure.md'
import { reading } from './tools.ts'

const documents = {
  'architecture.md': architecture,
  'extension.md': extension,
  'features.md': features,
  'how-it-works.md': howItWorks,
  'instructions.md': instructions,
  'startup.md': startup,
  'structure.md': structure,
}

const kinds = ['Text', 'Blob'] as const
type Kind = (typeof kinds)[number]

export function resources(server: Server): void {
  for (const [name, content] of Object.entries(documents)) {
    const description = `The document ${name} of this server`
    server.resource(
      `demo://resource/static/document/${name}`,
      { name, description, mimeType: 'text/markdown' },
      () => content,
    )
  }

  server.resource(
    'demo://resource/dynamic/text/{resourceId}',
    {
      name: 'Dynamic Text Resource',
      description: 'A text that is made when it is read. {resourceId} is an integer of at least 1.',
      mimeType: 'text/plain',
      complete: { resourceId: completeId },
    },
    ({ resourceId }) => (isId(resourceId) ? dynamicResource('Text', Number(resourceId)) : undefined),
  )

  server.resource(
    'demo://resource/dynamic/blob/{resourceId}',
    {
      name: 'Dynamic Blob Resource',
      description: 'Bytes that are made when they are read. {resourceId} is an integer of at least 1.',
      mimeType: 'application/octet-stream',
      complete: { resourceId: completeId },
    },
    ({ resourceId }) => (isId(resourceId) ? dynamicResource('Blob', Number(resourceId)) : undefined),
  )

  server.tool(
    'get-resource-links',
    {
      title: 'Get Resource Links Tool',
      description: 'Returns up to ten links to resources of two kinds',
      inputSchema: z.object({ count: z.number().min(1).max(10).default(3).describe('Number of links, 1 to 10') }),
      annotations: reading,
    },
    ({ count }) => [
      text(`Here are ${count} resource links to resources available in this server:`),
      ...Array.from({ length: Math.floor(count) }, (_, index) => linkTo(index + 1)),
    ],
  )

  server.tool(
    'get-resource-reference',
    {
      title: 'Get Resource Reference Tool',
      description: 'Returns an embedded resource, and its URI',
      inputSchema: z.object({
        resourceType: z.enum(kinds).default('Text'),
        resourceId: z.number().default(1).describe('An integer of at least 1'),
      }),
      annotations: reading,
    },
    ({ resourceType, resourceId }) => {
      if (!isId(resourceId)) return toolError(invalidId(resourceId))
      const resource = dynamicResource(resourceType, resourceId)
      return [
        text(`Returning resource reference for Resource ${resourceId}:`),
        embeddedResource(resource),
        text(`You can access this resource using the URI: ${resource.uri}`),
      ]
    },
  )

  server.prompt(
    'resource-prompt',
    {
      title: 'Resource Prompt',
      description: 'A prompt with an embedded resource',
      argsSchema: z.object({
        resourceType: z.string().describe('Text or Blob'),
        resourceId: z.string().describe('An integer of at least 1'),
      }),
      complete: {
        resourceType: (prefix) => kinds.filter((kind) => kind.startsWith(prefix)),
        resourceId: completeId,
      },
    },
    ({ resourceType, resourceId }) => {
      const kind = kinds.find((kind) => kind === resourceType)
      if (!kind) throw new McpError('invalid_params', `Invalid resourceType: ${resourceType}. Must be Text or Blob.`)
      if (!isId(resourceId)) throw new McpError('invalid_params', invalidId(resourceId))
      return [
        text(
          `This prompt includes the ${kind} resource with id: ${resourceId}. Please analyze the following resource:`,
        ),
        embeddedResource(dynamicResource(kind, Number(resourceId))),
      ]
    },
  )
}

const isId = (id: string | number): boolean => Number.isSafeInteger(Number(id)) && Number(id) > 0 && id !== ''
const invalidId = (id: string | number): string => `Invalid resourceId: ${id}. Must be a finite positive integer.`
const completeId = (prefix: string): string[] => (isId(prefix) ? [prefix] : [])

const uriOf = (kind: Kind, id: number): string => `demo://resource/dynamic/${kind.toLowerCase()}/${id}`

/** Odd numbers are blobs, even numbers are texts. */
function linkTo(id: number) {
  const kind = id % 2 === 0 ? 'Text' : 'Blob'
  const description = `Resource ${id}: plaintext resource`
  return resourceLink(uriOf(kind, id), { name: `${kind} Resource ${id}`, description, mimeType: 'text/plain' })
}

function dynamicResource(kind: Kind, id: number): ResourceContents {
  const time = new Date().toLocaleTimeString('en-US')
  const described = { uri: uriOf(kind, id), mimeType: 'text/plain' }
  if (kind === 'Text') return { ...described, text: `Resource ${id}: This is a plaintext resource created at ${time}` }
  return { ...described, blob: btoa(`Resource ${id}: This is a base64 blob created at ${time}`) }
}
