/** edgemcp/knowledge: Let ChatGPT search and cite your documents, in deep research and company knowledge. */
export { type KnowledgeDocument, type KnowledgeOptions, knowledge, type SearchResult } from './knowledge.ts'
