/** edgemcp/sampling: the client's model with tools of the handler's own. */
export { type Conversed, type ConverseRequest, converse, type ModelTool } from './converse.ts'
