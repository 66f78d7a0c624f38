/** Compiles the published files into dist/: JavaScript, types, and the templates of new projects. */
import { execFileSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
rmSync(resolve(root, 'dist'), { recursive: true, force: true })
// Code for Node.js has other types than code for workerd.
for (const project of ['tsconfig.build.json', 'tsconfig.node.json', 'cli/tsconfig.build.json']) {
  execFileSync(process.execPath, [resolve(root, 'node_modules/typescript/bin/tsc'), '-p', project], {
    cwd: root,
    stdio: 'inherit',
  })
}
cpSync(resolve(root, 'cli/init/templates'), resolve(root, 'dist/cli/init/templates'), { recursive: true })
