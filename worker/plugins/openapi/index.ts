/** edgemcp/openapi: Call the operations of an HTTP API as tools. */

export type { ToolOverride, ToolSelection } from '../../declarations/tool-selection.ts'
export type { HeadersContext, ResilienceOptions } from '../../declarations/upstream-options.ts'
export { type OpenApiToolsOptions, openApiTools } from './openapi-tools.ts'
export type { Operation } from './operation-type.ts'
export { type ParseOpenApiOptions, parseOpenApi } from './parse-openapi.ts'
