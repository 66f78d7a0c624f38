/** Writes worker/plugins/page/inspector/assets.ts: the style and the script of the inspector, bundled from inspector/. */
import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'

const root = resolve(import.meta.dirname, '..')
export const assetsPath = join(root, 'worker/plugins/page/inspector/assets.ts')

/** Returns the content of the file. */
export async function assets(): Promise<string> {
  const [script, style] = await Promise.all([bundle('inspector/main.ts'), bundle('inspector/style.css')])
  return [
    '/** Written by `npm run inspector`, of what is in inspector/. */',
    '',
    `export const style = ${JSON.stringify(style)}`,
    '',
    `export const script = ${JSON.stringify(script)}`,
    '',
  ].join('\n')
}

async function bundle(path: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [path],
    absWorkingDir: root,
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    charset: 'utf8',
    // Error texts of invalid declarations are for servers only.
    define: { 'globalThis.process.env.NODE_ENV': '"production"' },
  })
  return outputFiles[0]?.text.trim() ?? ''
}

if (import.meta.main) {
  const text = await assets()
  await writeFile(assetsPath, text)
  console.log(`${assetsPath}: ${text.length} characters`)
}
