import type { JsonSchema, ToolAnnotations } from '../../protocol/types.ts'

export type OperationParameter = Operation['parameters'][string]

/** Whether two parameters are the same. Names of headers ignore case. */
export const isSamePlace = (one: OperationParameter, other: OperationParameter): boolean =>
  one.in === other.in &&
  (one.name === other.name || (one.in === 'header' && one.name.toLowerCase() === other.name.toLowerCase()))

/** Whether `fetch` sends a body with a method. */
export const canHaveBody = (method: string): boolean => !/^(?:get|head)$/i.test(method)

export const urlEncodedForm = 'application/x-www-form-urlencoded'
export const multipartForm = 'multipart/form-data'

/** How a value becomes fields. */
export type FieldStyle = {
  /** Separator of the entries of a list in one field. Default: each entry is a field of its own. */
  readonly separator?: string | undefined
  /** Whether each entry and each member is a field of its own, such as `a[b][0]`. Default: objects are sent as JSON. */
  readonly isDeep?: boolean
}

/** Describes one operation of an API, as `parseOpenApi` returns it. It is JSON. */
export type Operation = {
  /** Name of the tool. */
  readonly name: string
  /** Description of the tool. */
  readonly description: string
  /** The HTTP method, in upper case. */
  readonly method: string
  /** The path, with its parameters in braces. */
  readonly path: string
  /** Paths of the document without an operation in the list, which an argument of this path could reach. Default: none. */
  readonly skippedPaths?: readonly string[]
  /** The place of each argument in the request, by argument: its kind, its name there, and its format. */
  readonly parameters: Readonly<
    Record<
      string,
      {
        /** `querystring`: the argument is an object, whose members are the parameters of the query. */
        in: 'path' | 'query' | 'querystring' | 'header'
        /** Without a meaning in a `querystring`. */
        name: string
        /**
         * Separator of the entries of a list. Default: in a query, each entry is a parameter of its own; in a path, a comma. In a path it may
         * be any text, such as `;id=`.
         */
        separator?: string
        /** Text in front of the value in a path, such as `;id=`. Default: none. */
        prefix?: string
      }
    >
  >
  /** Whether the argument `body` is sent. */
  readonly hasBody: boolean
  /**
   * Media type of the body: `application/x-www-form-urlencoded` and `multipart/form-data` are sent as forms, others as JSON. Default:
   * `application/json`.
   */
  readonly bodyType?: string
  /** How members of a form are sent. Default: each as one field, lists as a field for each entry, objects as JSON. */
  readonly bodyFields?: Readonly<
    Record<
      string,
      FieldStyle & {
        /**
         * Whether it may be a file, or a list of files, of a multipart form: `{ data, filename, mimeType }`, with `data` in base64. Any other
         * value is sent as a text.
         */
        readonly isFile?: boolean
        /**
         * Media type in a multipart form. Default: `application/octet-stream` for a file without `mimeType`, `application/json` for an object,
         * none for others. An object is always JSON.
         */
        readonly contentType?: string
      }
    >
  >
  /** Whether members of a multipart form that `bodyFields` does not name may be files. Default: false. */
  readonly hasOtherFiles?: boolean
  /** The schema of the arguments. */
  readonly input: JsonSchema
  /** Hints about side effects, from the HTTP method. */
  readonly annotations: ToolAnnotations
}
