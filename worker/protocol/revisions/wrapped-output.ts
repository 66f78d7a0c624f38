/**
 * Output that is not an object, for protocol versions whose output schemas and structured content are objects. Both are wrapped in an
 * object with the member `result`, so that older clients receive structured content, too.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/server/tools#structured-content
 */
import { isObject } from '../jsonrpc.ts'
import { dataKeywords } from '../param-headers.ts'
import type { JsonSchema, Params, Result } from '../types.ts'

/** Wraps the output schema of a tool of `tools/list` in an object schema. */
export function wrapOutputSchema(tool: Params): Params {
  const schema = tool.outputSchema
  return isObject(schema) && needsWrapping(schema) ? { ...tool, outputSchema: wrapSchema(schema) } : tool
}

/**
 * Wraps the structured content of a result of `tools/call` in an object.
 *
 * @param outputSchema the schema of the called tool, if it is known: it decides, so that content matches the listed schema
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

/** Keywords whose value has schemas by names of the developer's choice. */
const mapKeywords = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

/** Returns a copy of a schema whose references to its root point to `#/properties/result`. */
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
