import type { JsonSchema, ToolAnnotations } from '../../protocol/types.ts'

export type OperationParameter = Operation['parameters'][string]

/** Are these one parameter? Case means nothing in the name of a header. */
export const isSamePlace = (one: OperationParameter, other: OperationParameter): boolean =>
  one.in === other.in &&
  (one.name === other.name || (one.in === 'header' && one.name.toLowerCase() === other.name.toLowerCase()))

/** `fetch` sends no body with GET and HEAD. */
export const canHaveBody = (method: string): boolean => !/^(?:get|head)$/i.test(method)

/** One operation of an API, as `parseOpenApi` finds it. JSON. */
export type Operation = {
  /** Of the tool. */
  readonly name: string
  readonly description: string
  readonly method: string
  /** With its parameters in braces. */
  readonly path: string
  /** Where each argument goes, by its name: its name there, and how. */
  readonly parameters: Readonly<
    Record<
      string,
      {
        in: 'path' | 'query' | 'header'
        name: string
        /** Stands between the entries of a list in a query. Default: each entry is a parameter of its own. */
        separator?: ',' | ' ' | '|'
      }
    >
  >
  /** The argument `body` is sent as JSON. */
  readonly hasBody: boolean
  /** The media type of that JSON. Default: `application/json`. */
  readonly bodyType?: string
  readonly input: JsonSchema
  readonly annotations: ToolAnnotations
}
