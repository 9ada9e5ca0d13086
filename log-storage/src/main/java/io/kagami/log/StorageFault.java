package io.kagami.log;

/** The disk said no: this log is offline from now on, the broker is not. Names the file and what was tried. */
public class StorageFault extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public StorageFault(String message, Throwable cause) {
        super(message, cause);
    }
}
