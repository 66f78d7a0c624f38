/** Gives `vi.waitFor` the timeout of `expect.poll`. Vitest has an option for the latter only. */
import { vi } from 'vitest'

/** The default is one second, which is too short for a slow machine. */
const timeoutMs = 30_000

type Patient = typeof vi.waitFor & { isPatient?: true }

if (!(vi.waitFor as Patient).isPatient) {
  const { waitFor } = vi
  const patient: Patient = (check, options = timeoutMs) =>
    waitFor(check, typeof options === 'number' ? options : { timeout: timeoutMs, ...options })
  patient.isPatient = true
  vi.waitFor = patient
}
