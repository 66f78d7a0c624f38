/** edgemcp/openapi: the operations of an HTTP API as tools. */

export { type ParseOpenApiOptions, parseOpenApi } from './convert.ts'
export type { Operation } from './operation.ts'
export { type OpenApiToolsOptions, openApiTools } from './operations.ts'
