package io.kagami.log.disk;

import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;

/** Says why a file could not be used; the exceptions of several cases have the path alone for a message. */
public final class FileReason {
    private FileReason() {}

    public static String of(Throwable failure) {
        if (failure instanceof FileSystemException of && of.getReason() == null) {
            return of.getFile() + ": " + kind(of);
        }
        return failure.getMessage() == null ? failure.toString() : failure.getMessage();
    }

    private static String kind(FileSystemException failure) {
        if (failure instanceof NoSuchFileException) {
            return "there is no such file or directory";
        }
        if (failure instanceof AccessDeniedException) {
            return "permission denied";
        }
        return failure instanceof FileAlreadyExistsException
                ? "a file is in the way"
                : failure.getClass().getSimpleName();
    }
}
