/** edgemcp/api-keys: Accept API keys, which the server creates, lists, revokes and rotates. */
export { type ApiKeysAuth, type ApiKeysClass, type ApiKeysOptions, apiKeys } from './api-keys.ts'
export type {
  ApiKey,
  ApiKeyManager,
  ApiKeyOwner,
  NewApiKey,
  NewApiKeyOptions,
  RotateOptions,
} from './managed-keys.ts'
