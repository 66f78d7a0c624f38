/** What helps whoever develops a server. A deployment's bundle has nothing of it: see `serve.ts`. */
export * from './effects.ts'
export * from './missing-exports.ts'
export * from './unguarded.ts'
