import type { Params } from '../../protocol/types.ts'

/** Describes a skill: a folder with a `SKILL.md`, as `npx edgemcp skills` writes it. */
export type Skill = {
  /** Path of the folder, such as `git-help` or `tools/git-help`. Its last part is the name of the skill. */
  readonly folder: string
  /** The YAML at the start of `SKILL.md`, between two lines of `---`. */
  readonly frontmatter: Params & { readonly name: string; readonly description: string }
  /** The files of the folder, without those of skills in it. */
  readonly files: readonly SkillFile[]
}

/** Holds a file of a skill: `text`, or `base64` for other files. */
export type SkillFile = {
  /** Path in the folder of the skill, with `/`: `SKILL.md`, `references/commands.md`. */
  readonly path: string
  /** SHA-256 of the file: `sha256:` and 64 hexadecimal digits. */
  readonly digest: string
  /** Bytes of the file. */
  readonly size: number
} & ({ readonly text: string } | { readonly base64: string })
