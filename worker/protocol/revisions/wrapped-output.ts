/**
 * Output that is no object, for revisions whose output schemas and structured content are objects: both are wrapped in an
 * object with the one member `result`, so that older clients get structured content too.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/server/tools#structured-content
 */
import { isObject } from '../jsonrpc.ts'
import type { JsonSchema, Params, Result } from '../types.ts'

/** A tool of `tools/list`, with an output schema that has the type object. */
export function wrapOutputSchema(tool: Params): Params {
  const schema = tool.outputSchema
  return isObject(schema) && needsWrapping(schema) ? { ...tool, outputSchema: wrapSchema(schema) } : tool
}

/**
 * A result of `tools/call`, with structured content that is an object.
 *
 * @param outputSchema the called tool's, where it is known: it decides, so that content fits the schema that was listed
 */
export function wrapStructuredContent(result: Result, outputSchema?: JsonSchema): Result {
  const { structuredContent } = result
  if (structuredContent === undefined) return result
  const isWrapped = !isObject(structuredContent) || (outputSchema !== undefined && needsWrapping(outputSchema))
  return isWrapped ? { ...result, structuredContent: { result: structuredContent } } : result
}

const needsWrapping = (schema: Params): boolean => schema.type !== 'object'

function wrapSchema(schema: Params): JsonSchema {
  const { $schema } = schema
  return {
    ...($schema !== undefined && { $schema }),
    type: 'object',
    properties: { result: hasOwnBase(schema) ? schema : moveReferences(schema) },
    required: ['result'],
  }
}

/** A schema with an id is the root of its own references. An id that begins with "#" is an anchor. */
const hasOwnBase = ({ $id }: Params): boolean => typeof $id === 'string' && !$id.startsWith('#')

/** Keywords whose value is data, and those whose value has schemas by names of the developer's choice. */
const dataKeywords = new Set(['const', 'enum', 'default', 'examples'])
const mapKeywords = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

/** A copy of a schema whose references to its own root lead to `#/properties/result`. */
function moveReferences(schema: Params): Params {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => {
      if ((keyword === '$ref' || keyword === '$dynamicRef') && typeof value === 'string') {
        return [keyword, value.replace(/^#(?=$|\/)/, '#/properties/result')]
      }
      if (dataKeywords.has(keyword)) return [keyword, value]
      if (mapKeywords.has(keyword) && isObject(value)) {
        return [keyword, Object.fromEntries(Object.entries(value).map(([name, part]) => [name, movePart(part)]))]
      }
      return [keyword, movePart(value)]
    }),
  )
}

function movePart(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(movePart)
  return isObject(part) && !hasOwnBase(part) ? moveReferences(part) : part
}
